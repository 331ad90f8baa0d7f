"""Schemas of files without a declaration: which files are tables, the types of their columns, and a text form of both.

Everything is found once, from a bounded sample, and is explicit in the schema. All processes read by the same schema.
"""

from cauce.schema.engine import files_of, spec_of, table_of
from cauce.schema.find_tables import FoundTable, find_table, find_tables
from cauce.schema.infer import Inferred, infer
from cauce.schema.structs import ColumnSchema, DatasetSchema, TableSchema
from cauce.schema.type_suggestions import type_suggestions
from cauce.schema.types import TYPES, ColumnType, column_type

__all__ = [
    "TYPES",
    "ColumnSchema",
    "ColumnType",
    "DatasetSchema",
    "FoundTable",
    "Inferred",
    "TableSchema",
    "column_type",
    "files_of",
    "find_table",
    "find_tables",
    "infer",
    "spec_of",
    "table_of",
    "type_suggestions",
]
