"""Error responses: `application/problem+json` (RFC 9457). Clients decide by `code`, which never changes."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """`line` and `column` count from 1; they are given for an error in SQL text only."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    line: int | None = None
    column: int | None = None
