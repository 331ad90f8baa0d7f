"""Shared by the queries: reading of files, whole or in chunks, and writing of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pandas as pd

from bench.peers.task import Task

CHUNK_ROWS = 100_000


def read(paths: str | Sequence[str], columns: Mapping[str, str], types: Mapping[str, str]) -> pd.DataFrame:
    """Columns by our names, given with their headers; of text unless `types` says otherwise."""
    files = [paths] if isinstance(paths, str) else paths
    frames = [pd.read_csv(path, **_options(columns, types)) for path in files]
    return _renamed(pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0], columns)


def chunks(path: str, columns: Mapping[str, str], types: Mapping[str, str]) -> Iterator[pd.DataFrame]:
    for chunk in pd.read_csv(path, chunksize=CHUNK_ROWS, **_options(columns, types)):
        yield _renamed(chunk, columns)


def _options(columns: Mapping[str, str], types: Mapping[str, str]) -> dict[str, object]:
    return {
        "usecols": list(columns.values()),
        "dtype": {header: types.get(name, "str") for name, header in columns.items()},
        # "NA" and "None" are texts here.
        "keep_default_na": False,
        "na_values": [""],
    }


def _renamed(frame: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    return frame.rename(columns={header: name for name, header in columns.items()})


def scored(texts: pd.Series, task: Task) -> pd.Series:
    import polars as pl

    units = task.scorer(pl.Series(texts.array.__arrow_array__())) if len(texts) else pl.Series([], dtype=pl.Int32)
    return pd.Series(units.to_numpy(), index=texts.index)


def write(task: Task, answers: Mapping[str, Callable[[], pd.DataFrame]]) -> None:
    for query, made in answers.items():
        if task.asks(query):
            made().to_csv(task.answer_file(query), index=False)
