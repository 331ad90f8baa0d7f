"""Sentiment for peers: Cauce's kernel as a user-defined function, or vaderSentiment on a sample of the texts.

Scores are whole ten-thousandths, so that sums are exact in any order. A scorer can be pickled: Dask and PySpark send
it to other processes.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import polars as pl

Scorer: TypeAlias = Callable[["pl.Series"], "pl.Series"]

_PLACES = count()
"""Numbers the texts that this process has seen."""


def kernel(texts: pl.Series) -> pl.Series:
    """All texts, with the kernel that Cauce itself uses."""
    import polars as pl

    from cauce.scan.sentiment import vader

    return (vader(texts) * 10_000).round().cast(pl.Int32)


@dataclass(frozen=True)
class Library:
    """Every n-th text with `vaderSentiment`; the others count as 0, so that the answer is only valid if n is 1.

    `notes` is a folder where each thread of each process records how many texts it got, how many it scored, and how
    much processor time that took.
    """

    every: int
    notes: Path

    def __call__(self, texts: pl.Series) -> pl.Series:
        import polars as pl

        present = [(place, text) for place, text in enumerate(texts) if text is not None]
        units: list[int | None] = [None] * len(texts)
        chosen = []
        for place, text in present:
            units[place] = 0
            if next(_PLACES) % self.every == 0:
                chosen.append((place, text))
        score = _library()
        # Of this thread: time spent waiting for the interpreter lock does not count.
        started = time.thread_time()
        for place, text in chosen:
            units[place] = score(text)
        self._note(len(present), len(chosen), time.thread_time() - started)
        return pl.Series(texts.name, units, dtype=pl.Int32)

    def _note(self, texts: int, scored: int, cpu_s: float) -> None:
        self.notes.mkdir(parents=True, exist_ok=True)
        with (self.notes / f"{os.getpid()}-{threading.get_ident()}").open("a") as file:
            file.write(json.dumps({"texts": texts, "scored": scored, "cpu_s": cpu_s}) + "\n")


@lru_cache(maxsize=1)
def _library() -> Callable[[str], int]:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()
    return lambda text: round(analyzer.polarity_scores(text)["compound"] * 10_000)
