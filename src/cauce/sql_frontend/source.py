"""The statements of a job and the tables that they read, as stored in its manifest. Imports no parser."""

from __future__ import annotations

import msgspec

from cauce.schema import DatasetSchema


class SqlSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that a process needs to build the plan of a text. `rows` are estimates of the sizes of tables, `patterns` the
    tables of paths that a statement names, as in FROM 'orders_*.csv'. With `declared`, the statements read the tables
    of the declared dataset of this name, and the schema is empty."""

    text: str
    schema: DatasetSchema
    rows: dict[str, int] = {}
    patterns: dict[str, str] = {}
    declared: str = ""
