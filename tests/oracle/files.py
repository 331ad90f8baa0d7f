"""Where the files of a table lie in a data folder.

Refuses what the contract leaves open (one file twice, as a copy or compressed) and never guesses.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Files:
    """Patterns for file names (the first one with a match counts), and a folder that may hold the files."""

    patterns: tuple[str, ...]
    folder: str | None = None


def single(*names: str) -> Files:
    """One file directly in the data directory; a later name is used if the earlier ones are missing."""
    return Files(tuple(re.escape(name) for name in names))


def find(files: Files, data: Path) -> list[Path]:
    """The files of a table in name order."""
    folders = [data] if files.folder is None else [data, data / files.folder]
    present = [path for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_file()]
    for pattern in files.patterns:
        matching = [path for path in present if re.fullmatch(pattern + r"(\.gz)?", path.name)]
        if matching:
            names = [path.name.removesuffix(".gz") for path in matching]
            if len(set(names)) < len(names):
                raise ValueError(f"a file lies twice in {data}: {sorted(map(str, matching))}")
            return sorted(matching, key=lambda path: path.name)
    raise FileNotFoundError(f"no file like {' or '.join(files.patterns)} in {data}")


def content(path: Path) -> bytes:
    """The bytes of a file, decompressed."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.name.endswith(".gz") else data
