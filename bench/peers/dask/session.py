"""Shared by the queries: reading of files, as blocks or whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import dask
import dask.dataframe as dd

from bench.peers.task import Task


def start(task: Task) -> None:
    dask.config.set(scheduler="threads", num_workers=task.threads)


def read(
    paths: str | Sequence[str], columns: Mapping[str, str], types: Mapping[str, str], *, whole: bool = False
) -> dd.DataFrame:
    """Columns by our names, given with their headers; of text unless `types` says otherwise."""
    frame = dd.read_csv(
        paths,
        usecols=list(columns.values()),
        dtype={header: types.get(name, "str") for name, header in columns.items()},
        keep_default_na=False,
        na_values=[""],
        **({"blocksize": None} if whole else {}),
    )
    return frame.rename(columns={header: name for name, header in columns.items()})
