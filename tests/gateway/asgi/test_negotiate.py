"""Content negotiation by the Accept header."""

from __future__ import annotations

import pytest

from cauce.gateway.asgi.negotiate import choose
from cauce.gateway.asgi.problems import HttpError

OFFERED = ("text/csv", "application/json")


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, "text/csv"),
        ("", "text/csv"),
        ("*/*", "text/csv"),
        ("application/json", "application/json"),
        ("APPLICATION/JSON", "application/json"),
        ("application/*", "application/json"),
        ("text/csv;q=0.5, application/json", "application/json"),
        ("text/csv;q=0, */*", "application/json"),
        ("application/json;q=0.1, image/png", "application/json"),
        ("*/*;q=0.1, text/*;q=0.2", "text/csv"),
    ],
)
def test_the_best_match_is_chosen(accept: str | None, chosen: str) -> None:
    assert choose(accept, OFFERED) == chosen


@pytest.mark.parametrize("accept", ["image/png", "text/csv;q=0", "text/csv;q=x", "text/csv;q=nan", ";", "text/html,"])
def test_no_acceptable_type_is_a_406(accept: str) -> None:
    with pytest.raises(HttpError) as caught:
        choose(accept, OFFERED)
    assert caught.value.status == 406
