"""Fills the placeholders of the files in `templates/`.

A placeholder is `%{name}`, because a dollar sign has a meaning in Compose files, manifests and scripts. A percent sign
is written twice.
"""

from __future__ import annotations

import string
from pathlib import Path

_FOLDER = Path(__file__).with_name("templates")


class _Template(string.Template):
    delimiter = "%"


def template(path: str) -> str:
    return (_FOLDER / path).read_text(encoding="utf-8")


def rendered(path: str, values: dict[str, object]) -> str:
    """Raises a KeyError for a placeholder without a value."""
    return _Template(template(path)).substitute(values)


def names(folder: str) -> list[str]:
    """The paths of all files in a folder of templates, relative to it."""
    root = _FOLDER / folder
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
