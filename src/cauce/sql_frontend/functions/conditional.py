"""Conditional functions. coalesce, nullif, if and typeof are constructs of the binder."""

from __future__ import annotations

CONSTRUCTS = (
    ("coalesce(any, ...)", "The first value that is not NULL.", "coalesce(NULL, 2)"),
    ("ifnull(any, any)", "The second value if the first is NULL.", "ifnull(NULL, 2)"),
    ("nullif(any, any)", "NULL if two values are equal, otherwise the first.", "nullif(1, 1)"),
    ("if(boolean, any, any)", "One of two values by a condition.", "if(1 = 1, 'a', 'b')"),
    ("typeof(any)", "The type of a value.", "typeof(1.5)"),
)
"""Constructs that look like functions: signature, sentence, example."""
