"""The format version of a files fabric: its layout, segments and leases. It is checked before any of them is read. A
directory without a version file is empty or has version 1."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from cauce.fabric.files.disk import unique_name
from cauce.fabric.versions import decode_json
from cauce.process.private_files import sync_directory

VERSION = 1
FILE = "fabric.json"


class _Format(msgspec.Struct, frozen=True):
    version: int = VERSION


def check_folder_version(root: str, trash: str, *, power: bool) -> None:
    """Raises OtherVersion if another format version wrote the directory; writes the version file if it is missing."""
    path = f"{root}/{FILE}"
    try:
        with open(path, "rb") as file:
            decode_json(file.read(), _Format, VERSION, f"the folder {root} ({FILE})")
    except FileNotFoundError:
        # Errors are ignored: on a full disk, jobs must still be readable and deletable.
        with suppress(OSError):
            _write(path, f"{trash}/{unique_name()}.new", power=power)


def _write(path: str, aside: str, *, power: bool) -> None:
    with open(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(msgspec.json.encode(_Format()))
        file.flush()
        if power:
            os.fsync(file.fileno())
    # A hard link publishes the file atomically. Another process of the same version may be faster.
    with suppress(FileExistsError):
        os.link(aside, path)
    os.unlink(aside)
    if power:
        sync_directory(Path(path).parent)
