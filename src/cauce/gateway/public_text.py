"""Removes folders from texts for clients. Errors name files by their full path, which only the operator may see."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

_OWN = r"(?!v1\b|openapi\.json|healthz|readyz|metrics)"
"""URL paths of the service itself are kept."""
_NAME = r"[^\s/'\"`<>|:;,()\[\]{}]"
_FILE_URL = re.compile(r"\bfile://(?=/)", re.IGNORECASE)
_QUOTED = re.compile(rf"""(['"`])/+{_OWN}(?:[^'"`\n]*/)?([^'"`/\n]+)/*\1""")
_PATH = re.compile(
    rf"""(?<![\w/.*~%)\]}}…])       # not within a word, a media type or an address
    (?:(?<!:)/+|/){_OWN}
    (?:{_NAME}+/+)*({_NAME}+)/*""",
    re.VERBOSE,
)
_SPACE = "\0"
"""Replaces a space within a known folder, so that the path does not end there."""

_known: re.Pattern[str] | None = None
_folders: frozenset[str] = frozenset()


def hide_folders(paths: Iterable[Path]) -> None:
    """Registers folders of the service, or files in them, whose paths may contain spaces. Called when a gateway is
    created, before its threads start."""
    global _known, _folders
    absolute = {os.path.abspath(path) for path in paths}
    _folders |= {each for each in (*absolute, *map(os.path.dirname, absolute)) if " " in each}
    longest_first = sorted(_folders, key=len, reverse=True)
    _known = re.compile(f"(?:{'|'.join(map(re.escape, longest_first))})(?!\\w)") if _folders else None


def without_folders(text: str) -> str:
    """Replaces every absolute path by its last component. A path with spaces is recognized only in quotes or below a
    registered folder."""
    if "/" not in text:
        return text
    if _known is not None:
        text = _known.sub(lambda found: found[0].replace(" ", _SPACE), text)
    text = _QUOTED.sub(r"\1\2\1", _FILE_URL.sub("file:", text))
    return _PATH.sub(r"\1", text).replace(_SPACE, " ")
