"""Types as SQL names them, as in CAST(x AS DECIMAL(9, 2))."""

from __future__ import annotations

from sqlglot import exp

from cauce.sql_frontend import types
from cauce.sql_frontend.binding.positions import at, text_of
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, VARCHAR, SqlType, decimal, list_of


def type_named(node: exp.DataType) -> SqlType:
    """The type of a CAST."""
    kind = node.this
    name = kind.name if isinstance(kind, exp.DType) else str(kind)
    if name in ("ARRAY", "LIST"):
        return list_of(type_named(node.expressions[0]))
    if name == "DECIMAL":
        given = [int(each.this.this) for each in node.expressions if isinstance(each, exp.DataTypeParam)]
        precision, scale = [*given, 0][:2] if given else (18, 3)
        if not 1 <= precision <= types.MOST_DIGITS or not 0 <= scale <= precision:
            raise StatementError(
                f"DECIMAL({precision},{scale}): the width must be 1 to 38, the scale 0 to the width", at(node)
            )
        return decimal(precision, scale)
    found = _TYPES.get(name)
    if found is None:
        raise StatementError(
            f"type {text_of(node)} is not supported; expected one of {', '.join(_SHOWN_TYPES)}", at(node)
        )
    return found


_TYPES: dict[str, SqlType] = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": types.TINYINT,
    "SMALLINT": types.SMALLINT,
    "INT": INTEGER,
    "BIGINT": BIGINT,
    "INT128": types.HUGEINT,
    "FLOAT": types.FLOAT,
    "DOUBLE": DOUBLE,
    "TEXT": VARCHAR,
    "VARCHAR": VARCHAR,
    "CHAR": VARCHAR,
    "BPCHAR": VARCHAR,
    "NVARCHAR": VARCHAR,
    "DATE": types.DATE,
    "TIME": types.TIME,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMPNTZ": types.TIMESTAMP,
    "DATETIME": types.TIMESTAMP,
    "TIMESTAMPTZ": types.TIMESTAMPTZ,
    "INTERVAL": types.INTERVAL,
}
_SHOWN_TYPES = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL(p,s)", "FLOAT", "DOUBLE", "VARCHAR",
    "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "a list such as INTEGER[]",
)  # fmt: skip
