"""DuckDB: the needed columns go into tables once, in one parallel reading; the queries are SQL on those."""
