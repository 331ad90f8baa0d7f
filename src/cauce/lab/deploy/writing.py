"""Writes the files of a deployment. Secrets are never readable by others, not even for an instant."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cauce.errors import UsageError
from cauce.lab.deploy.rendering import template
from cauce.process.private_files import replace_file

IMAGE_FOLDER = "image"


@dataclass(frozen=True)
class File:
    """A file to be written."""

    path: str
    """Relative to the output folder."""
    content: str | bytes = field(repr=False)
    private: bool = False
    executable: bool = False

    @property
    def mode(self) -> int:
        if self.private:
            return 0o600
        return 0o755 if self.executable else 0o644

    @property
    def data(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else self.content.encode()


def prepare(folder: Path, *, force: bool) -> None:
    """Creates the folder; raises if it is not empty, unless files may be overwritten."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"{folder} is not a folder: a file is in the way; name another with --out") from None
    if not force and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; name another with --out, or overwrite it with --force")


def read(path: Path) -> str:
    """The text of a file written before; empty if it does not exist."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def write(folder: Path, files: Iterable[File]) -> None:
    _remove_image(folder / IMAGE_FOLDER)
    for file in files:
        path = folder / file.path
        path.parent.mkdir(mode=0o700 if file.private else 0o755, parents=True, exist_ok=True)
        replace_file(path, file.data, file.mode)


def _remove_image(image: Path) -> None:
    """Removes an image folder written before, so that renamed or removed files do not stay in it."""
    if not os.path.lexists(image):
        return
    mark = template("image/Dockerfile").partition("\n")[0]
    try:
        ours = not image.is_symlink() and (image / "Dockerfile").read_text(encoding="utf-8").startswith(mark)
    except (OSError, UnicodeDecodeError):
        ours = False
    if not ours:
        raise UsageError(f"{image} was not written by cauce deploy; move it away, or name another directory with --out")
    shutil.rmtree(image)
