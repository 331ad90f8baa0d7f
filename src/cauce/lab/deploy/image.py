"""The build context of the image for all processes of the service.

The image is built from that folder alone, so no secret can get into it.
"""

from __future__ import annotations

from pathlib import Path

from cauce.errors import UsageError
from cauce.lab.deploy.rendering import names, template
from cauce.lab.deploy.writing import IMAGE_FOLDER, File

LOCK = "requirements.lock"


def files() -> list[File]:
    """All files but the sources."""
    return [
        File(f"{IMAGE_FOLDER}/{name}", template(f"image/{name}"), executable=name.startswith("bin/"))
        for name in names("image")
    ]


def sources(package: Path) -> list[File]:
    """The lock file and the package, of a clone of the project or as they are installed."""
    places = (package.parents[1] / LOCK, package / "lab" / "deploy" / LOCK)
    lock = next((path for path in places if path.is_file()), None)
    if lock is None:
        raise UsageError(f"{LOCK} is missing beside {package}; install Cauce again")
    found = [path for path in sorted(package.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    own = [
        File(f"{IMAGE_FOLDER}/src/cauce/{path.relative_to(package).as_posix()}", path.read_bytes()) for path in found
    ]
    return [File(f"{IMAGE_FOLDER}/{LOCK}", lock.read_bytes()), *own]
