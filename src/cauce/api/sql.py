"""Messages about SQL over kept datasets."""

from __future__ import annotations

import msgspec


class SqlRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Statements over the kept dataset `on`. `job` is the id of the job, the client's idempotency key; without one, the
    gateway makes one."""

    sql: str
    on: str
    job: str | None = None
    parameters: dict[str, str] = {}


class ColumnBody(msgspec.Struct, frozen=True):
    name: str
    type: str


class AnswerBody(msgspec.Struct, frozen=True):
    """A statement's answer: its name and the columns it will have."""

    name: str
    columns: list[ColumnBody]


class CheckedSql(msgspec.Struct, frozen=True):
    answers: list[AnswerBody]
