"""Window functions: a value for each row, computed from the rows of its partition. Pure functions on frames.

Rows that tie in the order of a window are ordered by their remaining columns, so no value depends on the order of
arrival.
"""

from cauce.operators.windows.aggregates import OverFrame
from cauce.operators.windows.frames import Frame, WindowRows, sorted_windows
from cauce.operators.windows.functions import (
    CumeDist,
    DenseRank,
    FirstValue,
    Lag,
    LastValue,
    NthValue,
    Ntile,
    PercentRank,
    Rank,
    RowNumber,
    WindowFunction,
)

__all__ = [
    "CumeDist",
    "DenseRank",
    "FirstValue",
    "Frame",
    "Lag",
    "LastValue",
    "NthValue",
    "Ntile",
    "OverFrame",
    "PercentRank",
    "Rank",
    "RowNumber",
    "WindowFunction",
    "WindowRows",
    "sorted_windows",
]
