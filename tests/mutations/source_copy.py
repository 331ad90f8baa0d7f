"""A temporary copy of the project in which mutations are applied and undone. Never writes to the working tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.mutations.mutation import Mutation

ROOT = Path(__file__).parents[2]
KERNELS = "src/cauce/scan/native/__pycache__"
"""Compiled kernels. Their names are digests of their code, so that a copy never uses a stale one."""


def occurrences(root: Path, mutation: Mutation) -> list[int]:
    """How often each old text occurs in its file."""
    return [(root / each.file).read_text(encoding="utf-8").count(each.old) for each in mutation.replacements]


class SourceCopy:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._changes = 0
        for name in _listed_files():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        (folder / ".venv").symlink_to((ROOT / ".venv").resolve())
        (folder / KERNELS).mkdir()
        for path in (ROOT / KERNELS).glob("*.o"):
            shutil.copy2(path, folder / KERNELS / path.name)

    @contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        """Within the block the replacements of a mutation are applied."""
        files = {self.folder / each.file for each in mutation.replacements}
        before = {path: path.read_text(encoding="utf-8") for path in files}
        try:
            for each in mutation.replacements:
                path = self.folder / each.file
                self._write(path, path.read_text(encoding="utf-8").replace(each.old, each.new))
            yield
        finally:
            for path, text in before.items():
                self._write(path, text)

    def _write(self, path: Path, text: str) -> None:
        """Python compares the time of a source, in seconds, with that in its compiled file: every change has its own
        second."""
        self._changes += 1
        found = path.stat()
        path.write_text(text, encoding="utf-8")
        os.utime(path, (found.st_atime, found.st_mtime + self._changes))


def _listed_files() -> list[str]:
    """All files that are tracked, or would be if they were added."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    return [name for name in dict.fromkeys(listed) if name and os.path.lexists(ROOT / name)]
