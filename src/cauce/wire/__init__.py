"""Forms in which data leaves a process. This much of it is light: a command may ask before anything is loaded."""

from typing import Literal

Format = Literal["csv", "json", "parquet", "arrow"]
FORMATS: tuple[Format, ...] = ("csv", "json", "parquet", "arrow")
REJECTS = "rejects.csv"
