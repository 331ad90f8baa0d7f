"""The `users` table: registrations by month, growing over time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache

import numpy as np

from cauce.lab.generators.draw import Draw, Texts
from cauce.lab.generators.tables.months import day_of, days_in, timestamps
from cauce.lab.generators.writer import packed, pool, scaled, spans

HEADER = b"user_id,gender,birthdate,registered_at\n"
_BLOCK_ROWS = 1 << 16
_NEW = (
    580, 940, 1_600, 2_650, 4_340, 7_100, 11_500, 17_000, 23_000, 29_000, 35_000, 40_000,
    44_000, 47_000, 50_000, 52_000, 54_000, 55_000, 56_000, 57_000, 58_000, 58_000, 59_000, 59_000,
)  # fmt: skip
_GENDERS = pool(("female,", "male,"))


@cache
def _birthdates() -> Texts:
    return pool(f"{date(1954, 1, 1) + timedelta(days=day)}," for day in range(20_000))


def registered(scale: float, months: int) -> int:
    """The number of users after a number of months."""
    return sum(scaled(new, scale) for new in _NEW[:months])


def blocks(scale: float, seed: int, month: int) -> Iterator[bytes]:
    yield HEADER
    before, count = registered(scale, month), scaled(_NEW[month], scale)
    for block, start, end in spans(count, _BLOCK_ROWS):
        draw, rows = Draw(seed, "coffee", "users", month, block), end - start
        moments = 86_400 * day_of(month) + 86_400 * days_in(month) * np.arange(start, end) // count
        yield packed(
            (
                pool(f"{before + row + 1}," for row in range(start, end)),
                _GENDERS[draw.below(2, rows)],
                _birthdates()[draw.below(20_000, rows)],
                *timestamps(moments + draw.below(max(1, 86_400 // count), rows)),
            ),
            rows,
        )
