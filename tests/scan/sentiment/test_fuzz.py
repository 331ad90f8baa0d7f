"""The kernels against the library, on random texts made to find differences."""

from __future__ import annotations

import pytest

from tests.scan.sentiment.library import differing
from tests.scan.sentiment.texts import texts

pytestmark = pytest.mark.slow


def test_twenty_thousand_texts_score_as_in_the_library() -> None:
    assert differing(list(texts(seed=1, count=20_000))) == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 105))
def test_a_hundred_thousand_texts_score_as_in_the_library(seed: int) -> None:
    assert differing(list(texts(seed=seed, count=20_000))) == []
