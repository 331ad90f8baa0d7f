"""Sentiment of texts in ten-thousandths: VADER's compound score, or TextBlob's polarity rounded to 4 decimals.

Scores are integers, so that sums over any number of texts in any order are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

import polars as pl

from cauce.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCORERS = ("vader", "textblob")


def scored(column: str, scorer: str) -> pl.Expr:
    """The score of each text; null for a null text. Raises UsageError if the scorer is not installed."""
    check_installed(scorer)
    return pl.col(column).map_batches(_SERIES[scorer], return_dtype=pl.Int32)


def check_installed(scorer: str) -> None:
    """Raises UsageError if a package is missing, before a job starts."""
    if scorer == "textblob" and find_spec("textblob") is None:
        raise UsageError("the package textblob is not installed: pip install 'cauce[textblob]', or score with vader")


def vader(texts: pl.Series) -> pl.Series:
    """VADER's compound score of each text, equal to the library's; null for a null text."""
    # Divided by NumPy: Polars multiplies by the inverse, which is not always the float nearest to the decimal.
    return _present(texts, _vader(texts) / 10_000)


def vader_units(texts: pl.Series) -> pl.Series:
    """The same scores in ten-thousandths."""
    return _present(texts, _vader(texts))


def textblob_units(texts: pl.Series) -> pl.Series:
    # Imported lazily: it takes even longer than VADER.
    from cauce.scan.sentiment.polarity import polarity

    # Rounded first, so that a score equals the polarity as printed with 4 decimals.
    units = [None if text is None else round(round(polarity(text), 4) * 10_000) for text in texts]
    return pl.Series(texts.name, units, dtype=pl.Int32)


_SERIES: dict[str, Callable[[pl.Series], pl.Series]] = {"vader": vader_units, "textblob": textblob_units}


def _vader(texts: pl.Series) -> NDArray[np.int32]:
    # Imported lazily: most jobs score no texts.
    from cauce.scan.sentiment.compound import units_of

    return units_of(texts.cast(pl.String))


def _present(texts: pl.Series, scores: NDArray[np.int32] | NDArray[np.float64]) -> pl.Series:
    series = pl.Series(texts.name, scores)
    return series.set(texts.is_null(), None) if texts.null_count() else series
