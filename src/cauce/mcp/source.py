"""What the tools need: tables, and answers to statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from cauce.mcp.results import Limits, Plan, Rejects, Run, Tables


@dataclass(frozen=True)
class Question:
    """Statements over a dataset. `types` are those of columns by `table.column`, where files are read."""

    sql: str
    dataset: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)


class Source(Protocol):
    """Methods raise a CauceError with a message for the caller. They may be called by several threads."""

    def tables(self) -> Tables: ...

    def sql(self, question: Question, limits: Limits) -> Run: ...

    def query(self, name: str, parameters: Mapping[str, str], limits: Limits) -> Run: ...

    def explain(self, question: Question, limits: Limits) -> Plan: ...

    def rejects(self, run: str, limits: Limits) -> Rejects: ...

    def close(self) -> None: ...
