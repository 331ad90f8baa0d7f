"""Error responses: `application/problem+json` (RFC 9457). Clients decide by `code`, which never changes."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True):
    type: str
    title: str
    status: int
    code: str
    detail: str
