"""Input and output of the scorers: nulls, names, slices, chunks, threads; and texts that need the library."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from cauce.errors import UsageError
from cauce.scan.sentiment import SCORERS, compound, scored, textblob_units, vader, vader_units
from cauce.scan.sentiment.reading import UNSURE
from tests.scan.sentiment.library import LIBRARY, units
from tests.scan.sentiment.texts import texts

TEXTS = ["a good book", None, "", "a bad 😁 book", "“fine” — naïve, but VERY good!"]


def test_units_are_integers_and_null_for_a_null_text() -> None:
    series = vader_units(pl.Series("text", TEXTS))
    assert (series.name, series.dtype) == ("text", pl.Int32)
    assert series.to_list() == [None if text is None else units(text) for text in TEXTS]


def test_scores_are_the_floats_of_the_library() -> None:
    sample = list(texts(seed=3, count=2_000))
    series = vader(pl.Series("text", [*sample, None]))
    assert (series.name, series.dtype) == ("text", pl.Float64)
    assert series.to_list() == [*(LIBRARY.polarity_scores(text)["compound"] for text in sample), None]


def test_series_may_be_empty_or_null_throughout() -> None:
    assert vader_units(pl.Series("text", [], dtype=pl.String)).to_list() == []
    assert vader_units(pl.Series("text", [None, None], dtype=pl.String)).to_list() == [None, None]
    assert vader_units(pl.Series("text", [None])).to_list() == [None]


def test_series_may_be_sliced_and_in_chunks() -> None:
    chunks = pl.Series("text", ["good", "bad", None, "fun"]).append(pl.Series(["very good", "x" * 200]))
    assert vader_units(chunks.slice(1, 4)).to_list() == [units("bad"), None, units("fun"), units("very good")]


def test_texts_at_every_distance_from_the_end_of_the_buffer_score_alike() -> None:
    for length in range(140):
        series = pl.Series(["so good!", "x" * length, "isn't good"])
        assert vader_units(series).to_list() == [units("so good!"), 0, units("isn't good")]


def test_threads_share_the_kernels() -> None:
    sample = pl.Series(list(texts(seed=4, count=500)) * 10)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(vader_units, [sample] * 8))
    assert all(answer.equals(answers[0]) for answer in answers)


def test_a_sum_that_pythons_round_differently_goes_to_the_library() -> None:
    text = "boring, weak, love!"
    assert _handed_back([text]) == [UNSURE]
    assert vader_units(pl.Series([text])).to_list() == [units(text)]


def test_accents_dashes_and_curly_quotes_need_no_library_call() -> None:
    sample = [
        "“Très bien” — it’s naïve, isn’t it?",
        "Ça va… été\u00a0! ÉTÉ",
        "Straße – Ærø, £5 · ½",
        "Привет 日本語 good",
    ]
    assert max(_handed_back(sample)) <= 10_000


def test_expression_scores_a_column() -> None:
    frame = pl.DataFrame({"text": TEXTS})
    for scorer, function in zip(SCORERS, (vader_units, textblob_units), strict=True):
        assert frame.select(scored("text", scorer)).to_series().equals(function(frame["text"]))


def test_import_loads_neither_numba_nor_the_library() -> None:
    code = "import sys, cauce.scan.sentiment; print(*{'numba', 'vaderSentiment', 'textblob'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


def _handed_back(sample: list[str]) -> list[int]:
    data = np.frombuffer("".join(sample).encode() + bytes(100), np.uint8)
    bounds = np.cumsum([0] + [len(text.encode()) for text in sample])
    answer = np.empty(len(sample), np.int32)
    compound._score(data, bounds[:-1], bounds[1:], answer)
    return answer.tolist()


def test_a_scorer_that_is_not_installed_is_reported_before_the_job_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textblob", None)
    with pytest.raises(UsageError, match=r"pip install 'cauce\[textblob\]'"):
        scored("text", "textblob")
