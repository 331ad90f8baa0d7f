"""Python literals in the files: `['A', "O'B"]`, `[{'id': 1, 'name': 'C'}]`.

Peers with regular expressions of their own use the patterns; those that call Python use the functions.
"""

from __future__ import annotations

import ast
import re

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
"""A text with its quotes."""

NAMED = rf"'name': ({QUOTED})"
"""An entry's name, with its quotes as the first group."""

ESCAPED = r"\\(.)"
"""A character with its backslash; the first group is what it stands for, where that is a quote or a backslash."""

_QUOTED, _NAMED = re.compile(QUOTED), re.compile(NAMED)


def texts(literal: str) -> list[str]:
    return [_bare(quoted) for quoted in _QUOTED.findall(literal)]


def names(literal: str) -> list[str]:
    return [_bare(quoted) for quoted in _NAMED.findall(literal)]


def _bare(quoted: str) -> str:
    return ast.literal_eval(quoted) if "\\" in quoted else quoted[1:-1]
