"""Messages about kept datasets, shared by gateway and client. Here and not in `api`, because they contain schemas."""

from __future__ import annotations

import msgspec

from cauce.api.sql import ColumnBody
from cauce.schema.structs import DatasetSchema


class KeepRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dataset to keep: either the schema of its tables, or the name of a declared dataset whose tables it has.
    `keep_s` is how long it is kept after the last upload; null for the default of the service."""

    schema: DatasetSchema | None = None
    declared: str | None = None
    keep_s: float | None = None


class KeptTable(msgspec.Struct, frozen=True):
    """`complete` is the number of parts of the current version, null before the first. `parts` may be higher while
    more parts are uploaded."""

    parts: int
    bytes: int
    complete: int | None
    columns: list[ColumnBody]


class KeptDataset(msgspec.Struct, frozen=True):
    """`version` is 0 until every table is complete, and grows with each table that is completed again with more
    parts. `expires` is when it is removed if no part is added before."""

    name: str
    owner: str
    version: int
    created: float
    expires: float
    bytes: int
    tables: dict[str, KeptTable]
    schema: DatasetSchema | None
    declared: str | None
    keep_s: float


class KeptDatasets(msgspec.Struct, frozen=True):
    """The part of the list of datasets that clients read."""

    kept: list[KeptDataset] = []
