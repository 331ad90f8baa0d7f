"""Puts the files of a deployment on the disk. Secrets are never readable for others, not even for an instant."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from cauce.deploy.files import File
from cauce.deploy.image import FOLDER as IMAGE_FOLDER
from cauce.errors import UsageError


def prepare(folder: Path, *, force: bool) -> None:
    """Makes the folder; raises if there is something in it, unless that may be written over."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"{folder} cannot be a folder: a file is in the way") from None
    if not force and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; name another with --out, or write over it with --force")


def write(folder: Path, files: Iterable[File]) -> None:
    # What a file of the sources was called once must not be in the image of today.
    shutil.rmtree(folder / IMAGE_FOLDER, ignore_errors=True)
    for file in files:
        _write(folder / file.path, file)


def _write(path: Path, file: File) -> None:
    """Whole or not at all."""
    path.parent.mkdir(mode=0o700 if file.private else 0o755, parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(file.data)
        os.fchmod(opened.fileno(), file.mode)
    beside.replace(path)
