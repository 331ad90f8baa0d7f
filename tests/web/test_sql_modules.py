"""The pure parts of the SQL page, called in the browser with values of our own."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from cauce.gateway.dashboard.web.assets import assets
from tests.service.running import Running
from tests.web.browsing import watched
from tests.web.test_modules import call

ADDRESS = f"/assets/{assets().version}/sql_history.js"


@pytest.fixture(scope="module")
def page(browser: Browser, service: Running) -> Any:
    with watched(browser, service.url) as found:
        yield found.open("#/jobs")


def kinds(page: Page, sql: str) -> list[tuple[str, str]]:
    found = call(page, "sql_tokens", "tokens", sql)
    assert "".join(token["text"] for token in found) == sql
    return [(token["kind"], token["text"]) for token in found if token["kind"] != "space"]


def test_a_text_is_cut_into_tokens(page: Page) -> None:
    assert kinds(page, "Select \"a b\", 'it''s', 1.5e3, $year -- all\nFROM t.x /* two\nlines */") == [
        ("keyword", "Select"), ("name", '"a b"'), ("other", ","), ("text", "'it''s'"), ("other", ","),
        ("number", "1.5e3"), ("other", ","), ("parameter", "$year"), ("comment", "-- all"), ("keyword", "FROM"),
        ("word", "t"), ("other", "."), ("word", "x"), ("comment", "/* two\nlines */"),
    ]  # fmt: skip


def test_a_text_that_is_not_finished_is_cut_too(page: Page) -> None:
    assert kinds(page, "x 'open") == [("word", "x"), ("text", "'open")]
    assert kinds(page, '"open') == [("name", '"open')]
    assert kinds(page, "/* open") == [("comment", "/* open")]
    assert kinds(page, "año $ 😀")[0] == ("word", "año")


def test_parameters_are_found_once_and_not_in_texts_or_comments(page: Page) -> None:
    sql = "SELECT $b, $a, $b, '$c' -- $d"
    assert call(page, "sql_tokens", "parametersIn", sql) == ["b", "a"]


def test_names_are_quoted_where_they_must_be(page: Page) -> None:
    cases = {"paid": "paid", "Paid_2": "Paid_2", "2nd": '"2nd"', "a b": '"a b"', 'a"b': '"a""b"', "order": '"order"'}
    assert {name: call(page, "sql_tokens", "identifier", name) for name in cases} == cases


@pytest.mark.parametrize(
    ("sql", "place", "wrong"),
    [
        ("SELECT pad FROM t", (1, 8), "pad"),
        ("SELECT 1\nFROM t.pad x", (2, 6), "t.pad"),
        ("SELECT '😀', pad FROM t", (1, 13), "pad"),
        ("SELECT 'two\nlines', 3", (1, 8), "'two"),
        ("SELECT a FROM", (1, 14), "M"),
        ("SELECT a FROM  \n\n", (3, 1), "M"),
        ("SELECT a +", (1, 10), "+"),
        ("", (1, 1), ""),
    ],
)
def test_the_token_at_an_error_is_marked(page: Page, sql: str, place: tuple[int, int], wrong: str) -> None:
    span = call(page, "sql_tokens", "spanAt", sql, *place)
    units = sql.encode("utf-16-le")
    assert units[2 * span["from"] : 2 * span["to"]].decode("utf-16-le") == wrong
    lines = call(page, "sql_tokens", "linesOf", sql, span)
    assert "\n".join("".join(piece["text"] for piece in line) for line in lines) == sql
    assert "".join(piece["text"] for line in lines for piece in line if piece["wrong"]) == wrong


def test_the_history_is_bounded_and_keeps_a_statement_once(page: Page) -> None:
    kept = page.evaluate(
        """async (address) => {
          const { remember, runsOf, forget, MOST_RUNS } = await import(address);
          for (let i = 0; i < MOST_RUNS + 5; i++) {
            remember("bounded", { sql: `SELECT ${i}`, parameters: {}, job: `j${i}`, at: i });
          }
          remember("bounded", { sql: "SELECT 20", parameters: {}, job: "again", at: 99 });
          remember("bounded", { sql: "SELECT 20", parameters: { a: "1" }, job: "other", at: 100 });
          const found = runsOf("bounded");
          forget("bounded");
          return { found, most: MOST_RUNS, left: runsOf("bounded") };
        }""",
        ADDRESS,
    )
    assert len(kept["found"]) == kept["most"]
    assert [run["job"] for run in kept["found"][:3]] == ["other", "again", "j54"]
    assert [run["job"] for run in kept["found"]].count("j20") == 0
    assert kept["left"] == []


def test_long_statements_leave_the_history_first(page: Page) -> None:
    long = [{"sql": "x" * 150_000, "parameters": {}, "job": str(number), "at": number} for number in range(4)]
    assert [run["job"] for run in call(page, "sql_history", "bounded", long)] == ["0", "1"]


def test_the_draft_of_a_job_is_its_text_until_it_is_edited(page: Page) -> None:
    found = page.evaluate(
        """async (address) => {
          const { remember, keepDraft, draftOf } = await import(address);
          remember("drafts", { sql: "old", parameters: {}, job: "j1", at: 1 });
          const texts = [draftOf("drafts", "").sql, draftOf("drafts", "j1").sql];
          keepDraft("drafts", { sql: "edited", parameters: {}, job: "j2" });
          return [...texts, draftOf("drafts", "j1").sql, draftOf("drafts", "j2").sql, draftOf("drafts", "").sql];
        }""",
        ADDRESS,
    )
    assert found == ["", "old", "old", "edited", "edited"]
