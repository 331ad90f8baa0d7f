"""The API for declaring datasets: tables, cell kinds, relations, aggregates, outputs; and the planner."""

from cauce.operators.aggregates import Aggregate
from cauce.operators.order import POSITION
from cauce.plan import agg, window
from cauce.plan.dataset import Dataset, Parameter
from cauce.plan.expressions import asc, desc, divide, divide_half_even, ratio
from cauce.plan.outputs import (
    BOOLEAN,
    DATE,
    DECIMAL,
    FLOAT,
    INTEGER,
    TEXT,
    TEXT_LIST,
    TIMESTAMP,
    TIMESTAMPTZ,
    decimal,
)
from cauce.plan.relation import Relation, Table
from cauce.scan.cells.kinds import (
    Boolean,
    Date,
    Decimal,
    Duration,
    FieldList,
    Fixed,
    Float,
    Identifier,
    Integer,
    Json,
    Text,
    TextList,
    Timestamp,
    ZonedTimestamp,
)
from cauce.scan.tables import Column

__all__ = [
    "BOOLEAN",
    "DATE",
    "DECIMAL",
    "FLOAT",
    "INTEGER",
    "POSITION",
    "TEXT",
    "TEXT_LIST",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "Aggregate",
    "Boolean",
    "Column",
    "Dataset",
    "Date",
    "Decimal",
    "Duration",
    "FieldList",
    "Fixed",
    "Float",
    "Identifier",
    "Integer",
    "Json",
    "Parameter",
    "Relation",
    "Table",
    "Text",
    "TextList",
    "Timestamp",
    "ZonedTimestamp",
    "agg",
    "asc",
    "decimal",
    "desc",
    "divide",
    "divide_half_even",
    "ratio",
    "window",
]
