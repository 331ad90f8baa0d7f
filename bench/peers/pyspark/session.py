"""A Spark session that removes its files, and functions that the queries share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyarrow import csv
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from bench.peers.literals import NAMED, QUOTED
from bench.peers.task import Task

HEAP = "4g"


@contextmanager
def spark(task: Task) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with TemporaryDirectory() as scratch:
        session = (
            SparkSession.builder.master(f"local[{task.threads}]")
            .config("spark.driver.memory", HEAP)
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.local.dir", scratch)
            .config("spark.sql.warehouse.dir", scratch)
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "ERROR")
            .config("spark.sql.shuffle.partitions", 2 * task.threads)
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        try:
            yield session
        finally:
            session.stop()


def read(
    session: SparkSession,
    paths: str | Sequence[str],
    columns: Mapping[str, str],
    *,
    multi_line: bool = False,
    separator: str = ",",
    null: str = "",
) -> DataFrame:
    """Columns of text by our names, given with their headers. Malformed rows are left out."""
    reader = session.read.options(
        header=True, quote='"', escape='"', sep=separator, nullValue=null, multiLine=multi_line, mode="DROPMALFORMED"
    )
    frame = reader.csv(paths if isinstance(paths, str) else list(paths))
    return frame.select(*(fn.col(f"`{header}`").alias(name) for name, header in columns.items()))


def texts(column: str) -> Column:
    return fn.transform(fn.regexp_extract_all(column, fn.lit(QUOTED), fn.lit(0)), _bare)


def names(column: str) -> Column:
    return fn.transform(fn.regexp_extract_all(column, fn.lit(NAMED), fn.lit(1)), _bare)


def _bare(quoted: Column) -> Column:
    return fn.regexp_replace(fn.substring(quoted, fn.lit(2), fn.length(quoted) - 2), r"\\(.)", "$1")


def scored(column: str, task: Task) -> Column:
    scorer = task.scorer

    def score(texts: pa.Array) -> pa.Array:
        import polars as pl

        return scorer(pl.Series(pl.from_arrow(texts))).to_arrow()

    return fn.arrow_udf(score, "int")(column)


def write(task: Task, answers: Mapping[str, Callable[[], DataFrame]]) -> None:
    """Collects the answers, which are small, and writes one file each."""
    for query, made in answers.items():
        if task.asks(query):
            csv.write_csv(made().toArrow(), task.answer_file(query))
