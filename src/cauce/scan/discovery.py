"""Finds the files of a table in a data folder."""

from __future__ import annotations

import os
from pathlib import Path

from cauce.errors import DataNotFound, did_you_mean
from cauce.scan.formats.table import all_endings, other_endings, stem_of
from cauce.scan.parts import TableFile
from cauce.scan.tables import TableSpec

_SHOWN_NAMES = 8


def check_folder(data: Path, holding: str) -> None:
    """Raises DataNotFound unless `data` is a readable directory. `holding` names its expected content."""
    needed = f"name the directory that holds {holding}"
    if not data.exists():
        near = did_you_mean(data.name, _names_in(data.parent))
        raise DataNotFound(f"directory {data} does not exist; {needed}{near}")
    if not data.is_dir():
        raise DataNotFound(f"{data} is a file, not a directory; {needed}")
    if not os.access(data, os.R_OK | os.X_OK):
        raise DataNotFound(f"no permission to read directory {data}; run `chmod u+rx {data}`, or name another one")


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir())
    except OSError:
        return []


def find_files(data: Path, spec: TableSpec) -> list[TableFile]:
    """The files of a table, by base name. Uses the first of the table's patterns that matches a file."""
    for pattern in spec.files:
        found = _matching(data, pattern)
        if found:
            return found
    wanted = " or ".join(spec.files)
    names = _names_in(data)
    there = (", ".join(names[:_SHOWN_NAMES]) or "nothing") + (", …" if len(names) > _SHOWN_NAMES else "")
    below = next((each for each in map(data.joinpath, names) if _holds(each, spec)), None)
    advice = f"name the directory {below}" if below else "put the file there, or name the directory that holds it"
    others = ", ".join(other_endings())
    raise DataNotFound(f"table {spec.name} needs {wanted} (or {others}) in {data}, which holds {there}; {advice}")


def _holds(folder: Path, spec: TableSpec) -> bool:
    return folder.is_dir() and any(_matching(folder, pattern) for pattern in spec.files)


def _matching(data: Path, pattern: str) -> list[TableFile]:
    stem = pattern.removesuffix(".csv")
    stems = {stem, stem.rpartition("/")[2]}
    globs = [each + ending for each in sorted(stems) for ending in all_endings()]
    paths = {path for each in globs for path in data.glob(each) if path.is_file()}
    by_stem: dict[str, Path] = {}
    for path in sorted(paths):
        plain = stem_of(path.name)
        if plain in by_stem:
            raise DataNotFound(f"{by_stem[plain]} and {path} are the same file twice: keep one of them")
        by_stem[plain] = path
    ordered = sorted(by_stem.values(), key=lambda path: path.name)
    return [TableFile(path.relative_to(data).as_posix(), str(path), path.stat().st_size) for path in ordered]
