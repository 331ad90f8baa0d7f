"""The SQL page: statements over a kept dataset are written, checked, run and answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.service.running import Running
from tests.web import shop
from tests.web.browsing import Watched, watched

PER_COUNTRY = """SELECT country, count(*) AS orders, sum(paid) AS spent, max("Gift Wrap") AS any_wrap
FROM orders JOIN customers ON customer = name
WHERE paid > 2.5
GROUP BY country
ORDER BY spent DESC"""
PER_MONTH = """SELECT date_trunc('month', day) AS month, sum(paid) AS spent
FROM orders GROUP BY 1 ORDER BY 1"""
UNPAID = "SELECT id, paid, day FROM orders WHERE paid IS NULL ORDER BY id"
STATEMENTS = f"-- name: per_country\n{PER_COUNTRY};\n\n-- name: per_month\n{PER_MONTH};\n\n{UNPAID}"


@pytest.fixture
def found(browser: Browser, service: Running, kept: Path) -> Iterator[Watched]:
    """The page, with the dataset chosen. The browser notes the refusals of checks on its console."""
    with watched(browser, service.url) as seen:
        seen.open(f"#/sql/{shop.NAME}")
        expect(field(seen.page)).to_be_visible()
        yield seen
        seen.complaints = [each for each in seen.complaints if "422" not in each]


def field(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Statements")


def write(page: Page, sql: str) -> None:
    field(page).fill(sql)


def run(page: Page, sql: str) -> str:
    """The id of its job."""
    write(page, sql)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url(re.compile(rf"#/sql/{shop.NAME}/."))
    return page.url.rpartition("/")[2]


def finished(page: Page) -> None:
    expect(page.locator(".sql-job .state")).to_have_text("done", timeout=60_000)
    expect(page.locator("#tab-panel table.rows tbody tr").first).to_be_visible()


def shown(page: Page) -> list[list[str]]:
    rows: list[list[str]] = page.locator("#tab-panel table.rows tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.dataset.exact ?? cell.textContent))"
    )
    return rows


def texts(rows: list[tuple[object, ...]]) -> list[list[str]]:
    """Rows as the page writes them."""
    return [[_text(cell) for cell in row] for row in rows]


def _text(cell: object) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return str(cell).lower()
        case date():
            return cell.isoformat()
        case _:
            return str(cell)


def test_statements_are_answered_as_duckdb_answers_them(found: Watched, kept: Path) -> None:
    page = found.page
    run(page, STATEMENTS)
    finished(page)
    for name, sql in (("per_country", PER_COUNTRY), ("per_month", PER_MONTH), ("q3", UNPAID)):
        page.get_by_role("tab", name=re.compile(f"^{name}")).click()
        wanted = texts(shop.oracle(kept, sql))
        expect(page.locator("#tab-panel .bar [role=status]")).to_contain_text(f"of {len(wanted)}")
        assert shown(page) == wanted
    expect(page.locator("#tab-panel td.null")).to_have_count(len(wanted))


def test_answers_have_charts_downloads_and_the_plan(found: Watched, service: Running, tmp_path: Path) -> None:
    page = found.page
    job = run(page, STATEMENTS)
    finished(page)
    expect(page.locator("#tab-panel .chart")).to_have_attribute("aria-label", re.compile("^Bars: orders"))
    expect(page.locator(".graph .stage.finished").first).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 1230})
    found.picture("sql")
    page.get_by_role("tab", name=re.compile("^per_month")).click()
    expect(page.locator("#tab-panel .chart")).to_have_attribute("aria-label", re.compile("^Lines: spent"))
    assert page.locator("#tab-panel .series circle").count() == 12
    for form in ("csv", "json", "parquet", "arrow"):
        with page.expect_download() as saving:
            page.locator("#tab-panel .downloads").get_by_role("button", name=form).click()
        saving.value.save_as(tmp_path / form)
        assert (tmp_path / form).read_bytes() == service.get(f"/v1/jobs/{job}/results/per_month?format={form}").body
    assert sorted(page.locator(".graph .table-box text").all_text_contents()) == ["customers", "orders"]


def test_an_error_is_underlined_at_its_position_while_it_is_typed(found: Watched) -> None:
    page = found.page
    write(page, "")
    page.keyboard.type("SELECT customer,\n  sum(payd)\nFROM orders")
    wrong = page.locator(".editor-line .wrong")
    expect(wrong).to_have_text("payd")
    expect(page.locator(".editor-line").nth(1).locator(".wrong")).to_have_count(1)
    expect(page.locator("#sql-finding")).to_contain_text("Line 2, column 7: ")
    expect(field(page)).to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Go to the error").click()
    found.assert_accessible()
    found.screenshot("sql-error")
    page.keyboard.type("paid")
    expect(wrong).to_have_text("customer")
    write(page, "SELECT sum(paid) AS all_paid\nFROM orders")
    expect(wrong).to_have_count(0)
    expect(page.locator("#sql-finding")).to_contain_text("q1 (all_paid ")
    expect(field(page)).not_to_have_attribute("aria-invalid", "true")


@pytest.mark.parametrize("narrow", [False, True])
def test_the_colours_lie_on_the_text(browser: Browser, service: Running, kept: Path, narrow: bool) -> None:
    with watched(browser, service.url, narrow=narrow) as found:
        page = found.open(f"#/sql/{shop.NAME}")
        write(page, "\n".join(f"SELECT {'a_long_name, ' * n} '{'x' * 9 * n}'  \tFROM t --  ñ 😀  " for n in range(25)))
        sizes = page.locator(".editor-lines, .editor-field").evaluate_all("each => each.map(one => one.scrollHeight)")
        assert sizes[0] == sizes[1] > 1000
        found.complaints.clear()


def test_an_error_is_reported_by_a_run_and_starts_nothing(found: Watched, service: Running) -> None:
    page = found.page
    jobs = service.get("/v1/jobs").json()["jobs"]
    write(page, "SELECT\n  ñ😀 FROM orders")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#sql-finding .error")).to_contain_text("Line 2, column ")
    write(page, "  ")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#sql-finding .error")).to_have_text("Write a statement first.")
    assert page.url.endswith(f"#/sql/{shop.NAME}")
    assert service.get("/v1/jobs").json()["jobs"] == jobs
    run(page, "SELECT count(*) AS n FROM orders")
    expect(page.locator("#sql-finding .error")).to_have_count(0)


def test_statements_are_written_and_run_by_keyboard(found: Watched) -> None:
    page = found.page
    field(page).focus()
    page.keyboard.type("SELECT count(*) AS n")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("FROM customers")
    expect(field(page)).to_have_value("SELECT count(*) AS n\n  FROM customers")
    page.keyboard.press("Shift+Tab")
    expect(field(page)).to_have_value("SELECT count(*) AS n\nFROM customers")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(field(page)).not_to_be_focused()
    field(page).focus()
    page.keyboard.press("Control+Enter")
    finished(page)
    assert shown(page) == [[str(len(shop.NAMES))]]


def test_a_click_on_a_name_inserts_it(found: Watched) -> None:
    page = found.page
    write(page, "SELECT")
    aside = page.get_by_role("complementary")
    aside.get_by_role("button", name="Gift Wrap").click()
    page.keyboard.type(" FROM")
    aside.get_by_role("button", name="orders", exact=True).click()
    expect(field(page)).to_have_value('SELECT "Gift Wrap" FROM orders')
    expect(aside.get_by_text("decimal")).to_be_visible()


def test_statements_are_restored_from_the_history_with_their_answers(found: Watched) -> None:
    page = found.page
    first = run(page, "SELECT 1 AS one FROM customers LIMIT 1")
    finished(page)
    run(page, "SELECT 2 AS two FROM customers LIMIT 1")
    finished(page)
    expect(page.locator("#tab-panel th")).to_have_text("two")
    page.get_by_text("History (2)").click()
    page.locator(".past-run").nth(1).click()
    expect(field(page)).to_have_value("SELECT 1 AS one FROM customers LIMIT 1")
    expect(page.locator("#tab-panel th")).to_have_text("one")
    assert page.url.endswith(first)
    page.go_back()
    expect(field(page)).to_have_value("SELECT 2 AS two FROM customers LIMIT 1")
    expect(page.locator("#tab-panel th")).to_have_text("two")
    page.get_by_text("History (2)").click()
    found.screenshot("sql-history")
    page.get_by_role("button", name="Clear history").click()
    expect(page.locator(".past-run")).to_have_count(0)


def test_text_answers_and_parameters_survive_a_reload(found: Watched) -> None:
    page = found.page
    write(page, "SELECT $n::INTEGER + count(*) AS more FROM customers")
    page.get_by_label("$n").fill("100")
    page.get_by_role("button", name="Run", exact=True).click()
    finished(page)
    field(page).press("End")
    page.keyboard.type(" -- edited")
    page.reload()
    finished(page)
    assert shown(page) == [[str(100 + len(shop.NAMES))]]
    expect(field(page)).to_have_value(re.compile("-- edited$"))
    expect(page.get_by_label("$n")).to_have_value("100")


def test_a_job_of_another_browser_is_shown_with_its_statements(found: Watched, service: Running, sql_job: str) -> None:
    page = found.open(f"#/job/{sql_job}/inputs")
    statements = page.get_by_role("region", name="Statements")
    expect(statements).to_contain_text("GROUP BY country")
    expect(page.locator(".facts")).to_contain_text(f"{shop.NAME}, version 1")
    found.assert_accessible()
    wanted = statements.text_content() or ""
    page.get_by_role("link", name="Open in the editor").click()
    expect(field(page)).to_have_value(wanted)
    finished(page)
    assert len(shown(page)) == len(shop.COUNTRIES)


def test_a_failed_job_says_why(found: Watched) -> None:
    page = found.page
    run(page, "SELECT 9223372036854775807 + id AS too_large FROM orders")
    expect(page.locator(".sql-job .state")).to_have_text("failed")
    expect(page.locator(".sql-job .why.bad")).to_contain_text("overflow")
    found.assert_accessible()
    found.screenshot("sql-failed")


def test_a_removed_job_and_a_dropped_dataset_are_reported(found: Watched, service: Running) -> None:
    page = found.page
    job = run(page, "SELECT count(*) AS n FROM customers")
    finished(page)
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove job").click()
    expect(page.locator(".sql-job .why")).to_contain_text("were removed")
    expect(page.locator("#tab-panel")).to_have_count(0)
    page.reload()
    expect(page.locator(".sql-job .state")).to_have_text("cancelled")
    expect(page.locator(".sql-job")).to_contain_text("Run the statements again to get new answers.")
    expect(field(page)).to_have_value("SELECT count(*) AS n FROM customers")
    page.goto(f"{service.url}/#/sql/nothing/{job}")
    expect(page.get_by_role("alert").filter(has_text="There is no kept dataset nothing")).to_be_visible()
    page.get_by_role("link", name=shop.NAME, exact=True).click()
    expect(field(page)).to_be_visible()
    page.goto(f"{service.url}/#/sql/%")
    expect(page.get_by_role("alert").filter(has_text="There is no kept dataset %")).to_be_visible()


def test_a_service_that_keeps_nothing_explains_how_to_upload(browser: Browser, kept: Path, tmp_path: Path) -> None:
    with Running(tmp_path, "gateway") as gateway, watched(browser, gateway.url) as found:
        page = found.open("#/sql")
        expect(page.locator("main pre")).to_have_text(f"./cauce upload shop --data FOLDER --gateway {gateway.url}")
        found.assert_accessible()
        found.screenshot("sql-none")
        shop.keep(gateway, kept)
        # It appears by itself.
        expect(field(page)).to_be_visible()
        expect(page.get_by_text("Version 1: 2 tables")).to_be_visible()
