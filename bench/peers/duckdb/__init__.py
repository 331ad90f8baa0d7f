"""DuckDB: the needed columns are loaded into tables once, in parallel; the queries are SQL over those."""
