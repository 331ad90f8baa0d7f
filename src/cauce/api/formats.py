"""Names of result formats and of the rejects file. Must not import third-party libraries."""

from typing import Literal

Format = Literal["csv", "json", "parquet", "arrow"]
FORMATS: tuple[Format, ...] = ("csv", "json", "parquet", "arrow")
REJECTS = "rejects.csv"
