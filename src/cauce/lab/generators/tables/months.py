"""The 24 months of the coffee shop, as seconds and as the texts in its files."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache

import numpy as np

from cauce.lab.generators.draw import Ints, Texts
from cauce.lab.generators.writer import pool

MONTHS = tuple(date(2023 + (6 + number) // 12, (6 + number) % 12 + 1, 1) for number in range(24))
_EPOCH = date(2023, 6, 1)
_DAY_S = 86_400


def day_of(month: int) -> int:
    """The first day of a month, counted from a day before all of them."""
    return (MONTHS[month] - _EPOCH).days


def days_in(month: int) -> int:
    start = MONTHS[month]
    after = (start.replace(day=28) + timedelta(days=4)).replace(day=1)
    return (after - start).days


@cache
def _dates() -> Texts:
    return pool(f"{_EPOCH + timedelta(days=day)} " for day in range(800))


@cache
def _times() -> Texts:
    return pool(f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}\n" for s in range(_DAY_S))


def timestamps(seconds: Ints) -> tuple[Texts, Texts]:
    """Date and time with the end of the line, for seconds counted from the same day."""
    day, second = np.divmod(seconds, _DAY_S)
    return _dates()[day], _times()[second]
