"""The kernels against the library, on texts made to find where they part."""

from __future__ import annotations

import pytest

from tests.sentiment.library import differing
from tests.sentiment.texts import texts

pytestmark = pytest.mark.slow


def test_twenty_thousand_texts_score_as_in_the_library() -> None:
    assert differing(list(texts(seed=1, count=20_000))) == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 105))
def test_a_hundred_thousand_texts_score_as_in_the_library(seed: int) -> None:
    assert differing(list(texts(seed=seed, count=20_000))) == []
