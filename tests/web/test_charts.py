"""Charts of answers: several series, dates on the axis, values at a point."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service.running import Running
from tests.web import shop
from tests.web.browsing import watched
from tests.web.test_modules import call, hint

DAILY = "SELECT day, sum(paid) AS paid, max(paid) AS highest FROM orders GROUP BY day ORDER BY day"


@pytest.fixture(scope="module")
def page(browser: Browser, service: Running) -> Any:
    with watched(browser, service.url) as found:
        yield found.open("#/new")


@pytest.fixture(scope="package")
def daily_job(service: Running, kept: object) -> str:
    """An answer with a row for each day of a year, and two numbers."""
    assert kept
    assert service.send_json("POST", "/v1/sql", {"sql": DAILY, "on": shop.NAME, "job": "daily"}).status == 201
    service.wait_done("daily")
    return "daily"


def test_several_numbers_are_drawn_along_an_axis_of_time(browser: Browser, service: Running, daily_job: str) -> None:
    days = service.get(f"/v1/jobs/{daily_job}/results/q1").body.count(b"\n") - 1
    with watched(browser, service.url) as found:
        page = found.open(f"#/job/{daily_job}")
        chart = page.locator("#tab-panel svg.chart")
        expect(chart).to_have_attribute("aria-label", "Lines: paid, highest by 2024-01-01 to 2024-12-31")
        expect(page.locator("#tab-panel .series path")).to_have_count(2)
        assert page.locator("#tab-panel .x-label").first.text_content() == "Jan 2024"
        # All days, not only those of the page that the table shows.
        path = page.locator("#tab-panel .series path").last.get_attribute("d") or ""
        assert 300 < path.count("L") + 1 <= days
        group = page.get_by_role("group", name="Chart of")
        group.get_by_role("button", name="highest").click()
        expect(page.locator("#tab-panel .series path")).to_have_count(1)
        expect(group.get_by_role("button", name="highest")).to_be_focused()


def test_values_are_read_with_the_arrow_keys(browser: Browser, service: Running, daily_job: str) -> None:
    first = service.get(f"/v1/jobs/{daily_job}/results/q1").body.decode().splitlines()[1].split(",")
    with watched(browser, service.url) as found:
        page = found.open(f"#/job/{daily_job}")
        page.get_by_role("group", name=re.compile("arrow keys move")).focus()
        page.keyboard.press("Home")
        expect(page.locator(".chart-tip")).to_contain_text(first[0])
        expect(page.locator(".chart-tip")).to_contain_text(first[1])
        page.keyboard.press("Escape")
        expect(page.locator(".chart-tip")).to_be_hidden()


def test_texts_that_are_dates_make_an_axis_of_time(page: Page) -> None:
    rows = [["2024-03-01", "x", 2], ["2024-01-01", "x", 1], ["2024-01-01", "y", 5]]
    found = call(page, "chart_choice", "choose", hint("bars", ["since", "who"], ["n"]), ["since", "who", "n"], rows)
    assert (found["kind"], found["x"]) == ("line", ["2024-01-01", "2024-03-01"])
    assert found["at"] == [1_704_067_200_000, 1_709_251_200_000]
    assert [one["name"] for one in found["series"]] == ["y", "x"]


def test_dates_that_only_describe_rows_stay_bars(page: Page) -> None:
    rows = [["ana", "1990-02-03", 2], ["eva", "1991-02-03", 1]]
    found = call(page, "chart_choice", "choose", hint("bars", ["who", "born"], ["n"]), ["who", "born", "n"], rows)
    assert found["labels"] == ["ana · 1990-02-03", "eva · 1991-02-03"]


def test_a_truth_value_names_its_lines_and_rows_without_a_date_are_not_drawn(page: Page) -> None:
    rows = [["2024-01-01", True, 2], ["2024-01-02", True, 3], ["2024-01-01", False, 1], [None, False, 9]]
    given = {**hint("line", [], ["n"]), "x": "day", "series": "paid"}
    found = call(page, "chart_choice", "choose", given, ["day", "paid", "n"], rows)
    assert found["x"] == ["2024-01-01", "2024-01-02"]
    assert found["series"] == [{"name": "paid: true", "values": [2, 3]}, {"name": "paid: false", "values": [1, None]}]


def test_numbers_of_other_sizes_are_not_drawn_along_one_axis(page: Page) -> None:
    rows = [["a", 1000, 900, 3], ["b", 2000, 1500, 4]]
    columns = ["who", "paid", "owed", "orders"]
    given = hint("bars", ["who"], ["paid", "owed", "orders"])
    assert call(page, "chart_choice", "firstValues", given, columns, rows) == ["paid", "owed"]
    chosen = call(page, "chart_choice", "choose", given, columns, rows, ["orders"])
    assert chosen["series"] == [{"name": "orders", "values": [3, 4]}]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2024-02", 1_706_745_600_000),
        ("2024/02/01", 1_706_745_600_000),
        ("2024-02-01T02:00:00+02:00", 1_706_745_600_000),
        ("2024-02-01 00:00:00.000", 1_706_745_600_000),
        ("2024-13", None),
        ("spring", None),
        ("20240201", None),
    ],
)
def test_dates_are_recognised(page: Page, text: str, wanted: int | None) -> None:
    assert call(page, "chart_time", "instantOf", text) == wanted


def test_ticks_of_time_are_round(page: Page) -> None:
    day = 86_400_000
    start = 1_706_745_600_000  # 2024-02-01
    months = call(page, "chart_time", "timeTicks", start, start + 120 * day, 6)
    assert [tick["label"] for tick in months] == ["Feb 2024", "Mar", "Apr", "May"]
    days = call(page, "chart_time", "timeTicks", start, start + 4 * day, 6)
    assert [tick["label"] for tick in days] == ["1 Feb 2024", "2 Feb", "3 Feb", "4 Feb", "5 Feb"]
    years = call(page, "chart_time", "timeTicks", start, start + 1500 * day, 6)
    assert [tick["label"] for tick in years] == ["2025", "2026", "2027", "2028"]
