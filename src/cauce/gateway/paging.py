"""Which page of an answer a request asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from starlette.requests import Request

from cauce.gateway.downloads import FORMS
from cauce.gateway.headers import number
from cauce.gateway.model import RejectPage, ResultPage
from cauce.gateway.negotiate import choose
from cauce.gateway.pages import MOST_ROWS
from cauce.gateway.problems import bad_request
from cauce.wire import FORMATS, Format

LONGEST_WAIT_S = 30.0
PAGE_ROWS = 10_000
CURSOR_LETTERS = 500

Page = ResultPage | RejectPage


@dataclass(frozen=True)
class PageAsked:
    cursor: str | None = None
    limit: int = PAGE_ROWS
    wait_s: float = 0.0


def waits(page: Page) -> bool:
    """Whether there is nothing yet, but something may come."""
    return page.rows.is_empty() and page.next is not None


def page_asked(request: Request) -> PageAsked | None:
    """None where the whole is asked for."""
    asked = request.query_params
    if not asked.keys() & {"cursor", "limit", "wait"}:
        return None
    cursor = asked.get("cursor")
    if cursor is not None and len(cursor) > CURSOR_LETTERS:
        raise bad_request("this is no cursor that was ever given; begin without one")
    limit = number(asked.get("limit", str(PAGE_ROWS)), "limit", MOST_ROWS)
    if limit < 1:
        raise bad_request("limit is to be 1 at least")
    return PageAsked(cursor, limit, _seconds(asked.get("wait", "0")))


def form_asked(request: Request, forms: tuple[Format, ...] = FORMATS) -> Format:
    """The form of a whole: named by `format`, as a link does, or by what is accepted."""
    named = request.query_params.get("format")
    if named is None:
        return FORMS[choose(request.headers.get("accept"), tuple(media for media in FORMS if FORMS[media] in forms))]
    found = next((form for form in forms if form == named), None)
    if found is None:
        raise bad_request(f"format is to be {' or '.join(forms)}, not {named[:40]!r}")
    return found


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 <= seconds <= LONGEST_WAIT_S:
        raise bad_request(f"wait is to be seconds between 0 and {LONGEST_WAIT_S:g}, not {text[:40]!r}")
    return seconds
