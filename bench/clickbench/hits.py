"""Generates the table `hits` of ClickBench: all its columns, with the skew that the queries depend on.

Most search phrases are empty, few users and pages have most of the hits, and the constants of the queries occur. The
same number of rows and the same seed give the same bytes.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl

from bench.clickbench import COLUMNS

ROWS = 1_000_000
"""At scale 1: some 500 MB. The original table has 100 times as many."""

CHUNK_ROWS = 200_000
DAY_S = 86_400
FIRST_DAY_S = 15_887 * DAY_S
"""2013-07-01."""

USER, URL_HASH, REFERER_HASH, COUNTER = 435090932899640449, 2868770270353813622, 3594120000172545465, 62
HOSTS = ("www.google.com", "news.example", "shop.example", "www.video.example", "maps.google.example", "forum.example")
WORDS = ("cats", "google", "maps", "news", "weather", "pens", "cheap", "tickets", "video", "today", "football", "house")
PHONES = ("", "", "", "", "", "", "", "iPad", "iPhone 2", "Nokia 3310", "GT-I9100")
LARGE = ("WatchID", "FUniqID", "HID", "RemoteIP", "ClientIP")


def generated(cache: Path, scale: float) -> Path:
    """The folder with `hits.csv`, generated unless cached."""
    data = cache / f"clickbench-{scale:g}"
    if not data.is_dir():
        # Renamed when complete: a cached folder is never partial.
        unfinished = cache / f"{data.name}.{os.getpid()}"
        unfinished.mkdir(parents=True)
        write(unfinished / "hits.csv", max(1, round(ROWS * scale)))
        unfinished.rename(data)
    return data


def write(path: Path, rows: int, seed: int = 0) -> None:
    random = np.random.default_rng(seed)
    with path.open("wb") as file:
        for start in range(0, rows, CHUNK_ROWS):
            frame = _chunk(random, min(CHUNK_ROWS, rows - start))
            frame.write_csv(file, include_header=start == 0, datetime_format="%Y-%m-%d %H:%M:%S")


def _chunk(random: np.random.Generator, rows: int) -> pl.DataFrame:
    seconds = FIRST_DAY_S + random.integers(0, 31 * DAY_S, rows)
    page, origin = _skewed(random, rows, 300_000), _skewed(random, rows, 200_000)
    made: dict[str, pl.Series | np.ndarray] = {
        "EventDate": pl.Series(seconds // DAY_S).cast(pl.Int32).cast(pl.Date),
        "UserID": _with(random, _spread(_skewed(random, rows, 250_000)), USER, 0.0001),
        "CounterID": _with(random, _skewed(random, rows, 6_000) + 100, COUNTER, 0.15),
        "URL": _addresses(page),
        "Referer": _addresses(origin).set(pl.Series(random.random(rows) < 0.2), None),
        "URLHash": np.where(page == 3, URL_HASH, _spread(page)),
        "RefererHash": np.where(origin == 5, REFERER_HASH, _spread(origin)),
        "Title": _texts(page % 50_000, 6, "Title ").set(pl.Series(random.random(rows) < 0.05), None),
        "SearchPhrase": _texts(_skewed(random, rows, 100_000), 3, "").set(pl.Series(random.random(rows) < 0.87), None),
        "MobilePhoneModel": pl.Series(PHONES).gather(random.integers(0, len(PHONES), rows)).replace("", None),
        "RegionID": _skewed(random, rows, 5_000),
        "ResolutionWidth": random.choice([0, 1024, 1280, 1366, 1638, 1920], rows),
        "TraficSourceID": random.choice([-1, 0, 1, 2, 3, 6], rows),
    }
    return pl.DataFrame([_column(random, name, kind, made, seconds) for name, kind in COLUMNS.items()])


def _column(
    random: np.random.Generator, name: str, kind: str, made: dict[str, pl.Series | np.ndarray], seconds: np.ndarray
) -> pl.Series:
    rows = len(seconds)
    if name in made:
        return pl.Series(name, made[name])
    if kind == "TIMESTAMP":
        return pl.Series(name, seconds * 1_000_000).cast(pl.Datetime("us"))
    if kind == "VARCHAR":
        empty = pl.Series(random.random(rows) < 0.9)
        return _texts(random.integers(0, 1000, rows), 1, "").set(empty, None).alias(name)
    if name in LARGE:
        return pl.Series(name, random.integers(1, 2**31 if "IP" in name else 2**62, rows))
    if name.startswith("WindowClient"):
        return pl.Series(name, random.integers(100, 2000, rows))
    # Flags and small numbers, most of them zero.
    return pl.Series(name, np.where(random.random(rows) < 0.7, 0, random.integers(0, 30, rows)))


def _skewed(random: np.random.Generator, rows: int, values: int) -> np.ndarray:
    """Numbers from 0 to `values` of which the small ones are the most frequent, as in a power law."""
    return (values * random.random(rows) ** 4).astype(np.int64)


def _spread(numbers: np.ndarray) -> np.ndarray:
    """Different 62-bit numbers for different small numbers."""
    return ((numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(2)).astype(np.int64)


def _with(random: np.random.Generator, numbers: np.ndarray, value: int, share: float) -> np.ndarray:
    return np.where(random.random(len(numbers)) < share, value, numbers)


def _texts(numbers: np.ndarray, words: int, prefix: str) -> pl.Series:
    """Texts of some words that are determined by the number, which is their end."""
    vocabulary, codes = pl.Series(WORDS), pl.Series("code", numbers)
    parts = [vocabulary.gather((codes // len(WORDS) ** place % len(WORDS)).to_numpy()) for place in range(words)]
    frame = pl.DataFrame([part.alias(str(place)) for place, part in enumerate(parts)] + [codes])
    return frame.select(pl.lit(prefix) + pl.concat_str(pl.all(), separator=" ")).to_series()


def _addresses(pages: np.ndarray) -> pl.Series:
    hosts = pl.Series("host", HOSTS).gather(pages % len(HOSTS))
    frame = pl.DataFrame([hosts, pl.Series("page", pages)])
    return frame.select(pl.format("http://{}/section/{}/page?id={}", "host", pl.col("page") % 97, "page")).to_series()
