"""Normalises a dataset file for its version digest: removes comments and blank lines, so that open jobs survive edits
to them. All other text counts, because a plan does not contain the code of its functions."""

from __future__ import annotations

import io
import tokenize
from functools import lru_cache


@lru_cache(maxsize=32)
def without_comments(source: bytes) -> bytes:
    """The source without comments, equal in every version of Python; unchanged if it is not valid Python."""
    try:
        tokens = list(tokenize.tokenize(io.BytesIO(source).readline))
        lines = source.decode(tokens[0].string).replace("\r\n", "\n").split("\n")
    except (SyntaxError, UnicodeDecodeError, LookupError, tokenize.TokenError):
        return source
    blank: set[int] = set()
    # Cut by token position: the texts of other tokens differ between versions of Python.
    for row, column in (token.start for token in tokens if token.type in (tokenize.COMMENT, tokenize.NL)):
        lines[row - 1] = lines[row - 1][:column].rstrip()
        if not lines[row - 1]:
            blank.add(row - 1)
    return "\n".join(line for row, line in enumerate(lines) if row not in blank).encode()
