"""Typed results of the tools. The server derives their JSON schemas from these classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

_LARGEST_WHOLE = 2**53
_ENCODER = msgspec.json.Encoder(decimal_format="string")


@dataclass(frozen=True)
class Limits:
    """Bounds of one call."""

    rows: int = 200
    bytes: int = 200_000
    """Of the rows of a result, as JSON."""
    seconds: float = 60.0


@dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclass(frozen=True)
class Table:
    dataset: str
    name: str
    columns: list[Column]


@dataclass(frozen=True)
class NamedQuery:
    """A question that a declared dataset answers."""

    name: str
    question: str
    columns: list[str]
    parameters: dict[str, list[str]]
    """The names of parameters with their possible values."""


@dataclass(frozen=True)
class Tables:
    tables: list[Table]
    queries: list[NamedQuery] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Answer:
    """The first rows of an answer. Exact decimals are texts."""

    name: str
    columns: list[Column]
    rows: list[list[Any]]
    total_rows: int
    truncated: bool


@dataclass(frozen=True)
class Run:
    """The answers to all statements of a call. `run` names it for the tool `rejects`."""

    run: str
    answers: list[Answer]
    rejected: int
    """Rows and cells of the files that could not be read."""


@dataclass(frozen=True)
class Reject:
    file: str
    line: int | None
    column: str | None
    reason: str


@dataclass(frozen=True)
class Rejects:
    rejects: list[Reject]
    total: int
    truncated: bool


@dataclass(frozen=True)
class Plan:
    plan: str
    truncated: bool


def _cell(value: object) -> object:
    """Sums of whole numbers are decimals without digits after the point: numbers, if every JSON parser reads them."""
    is_whole = isinstance(value, Decimal) and value.as_tuple().exponent == 0 and abs(value) < _LARGEST_WHOLE
    return int(value) if is_whole else value  # type: ignore[call-overload]


class Bounded:
    """Takes rows of all answers of a call, until one limit is reached."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._bytes = 0

    def rows(self, found: Iterable[Sequence[object]]) -> list[list[Any]]:
        taken: list[list[Any]] = []
        for row in found:
            encoded = _ENCODER.encode([_cell(value) for value in row])
            self._bytes += len(encoded)
            if len(taken) >= self._limits.rows or self._bytes > self._limits.bytes:
                break
            taken.append(msgspec.json.decode(encoded))
        return taken

    def text(self, text: str) -> Plan:
        kept = text.encode()[: self._limits.bytes].decode(errors="ignore")
        return Plan(kept, truncated=kept != text)
