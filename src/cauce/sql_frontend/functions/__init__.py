"""The functions and operators of SQL: one table entry each, with its types, its Polars translation and an example."""
