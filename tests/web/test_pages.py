"""The pages as a person meets them: jobs, a job, its answers; by mouse, by keyboard, on a phone, in the dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.service.running import Running
from tests.web.browsing import watched

PAGES = {
    "jobs": "#/jobs",
    "job": "#/job/coffee",
    "plan": "#/job/coffee/plan/0",
    "rejects": "#/job/with-rejects/rejects",
    "timeline": "#/job/coffee/timeline",
    "inputs": "#/job/sql-page/inputs",
    "new": "#/new",
    "cluster": "#/cluster",
    "sql": "#/sql/shop/sql-page",
}
FIRST_LOAD_BYTES = 300_000


def settled(page: Page, name: str) -> None:
    """Waits for a text on the page."""
    if name == "jobs":
        expect(page.locator("table.jobs tbody tr").first).to_be_visible()
    elif name == "job":
        expect(page.locator("table.rows tbody tr").first).to_be_visible()
    elif name == "plan":
        expect(page.locator(".stage-panel .tasks")).to_be_visible()
    elif name == "rejects":
        expect(page.locator(".reason-list li").first).to_be_visible()
        expect(page.locator("table.rows:visible tbody tr").first).to_be_visible()
    elif name == "timeline":
        expect(page.locator(".timeline .lane").first).to_be_visible()
    elif name == "inputs":
        expect(page.locator(".statements")).to_be_visible()
    elif name == "sql":
        expect(page.locator(".editor-line")).to_have_count(2)
        expect(page.locator("table.rows tbody tr").first).to_be_visible()
        expect(page.locator(".graph .stage.finished").first).to_be_visible()
    elif name == "new":
        expect(page.locator(".query").first).to_be_visible()
    else:
        expect(page.locator(".lanes")).to_be_visible()
        expect(page.locator("table.processes tbody tr").first).to_be_visible()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    "look", ["light", "dark phone", *(pytest.param(each, marks=pytest.mark.soak) for each in ("dark", "phone"))]
)
@pytest.mark.usefixtures("done", "sql_job", "rejecting_job")
def test_every_page_is_accessible_and_fits(browser: Browser, service: Running, name: str, look: str) -> None:
    with watched(browser, service.url, narrow="phone" in look, dark="dark" in look) as found:
        page = found.open(PAGES[name])
        settled(page, name)
        found.assert_accessible()
        found.assert_fits()
        found.screenshot(f"{name}-{look.replace(' ', '-')}")
        if name == "job" and look in ("dark", "phone"):
            found.picture(f"{name}-{look}")


def test_the_first_load_is_small(browser: Browser, service: Running) -> None:
    with watched(browser, service.url) as found:
        sizes: list[int] = []
        found.page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
        page = found.open()
        expect(page.locator("h1")).to_have_text("Jobs")
        page.wait_for_load_state("load")
        assert 10_000 < sum(sizes) < FIRST_LOAD_BYTES


def link_of(page: Page, done: str) -> Locator:
    """The link of a done job in the list. Other tests of this service may have added pages of newer jobs."""
    page.get_by_role("searchbox", name="Search jobs").fill(done)
    page.get_by_role("button", name=re.compile("^Done")).click()
    link = page.get_by_role("link", name=done, exact=True)
    expect(link).to_be_visible()
    return link


def test_a_job_can_be_opened_by_keyboard(browser: Browser, service: Running, done: str) -> None:
    with watched(browser, service.url) as found:
        page = found.open()
        link = link_of(page, done)
        for _ in range(40):
            page.keyboard.press("Tab")
            if link.evaluate("link => link === document.activeElement"):
                break
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text(done)
        first = page.get_by_role("tab", name=re.compile("^q1"))
        first.focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name=re.compile("^q2"))).to_have_attribute("aria-selected", "true")
        page.keyboard.press("End")
        expect(page.get_by_role("tab", name=re.compile("^q4"))).to_be_focused()


def shown_rows(page: Page) -> list[list[str]]:
    rows: list[list[str]] = page.locator("#tab-panel table.rows tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.dataset.exact ?? cell.textContent))"
    )
    return rows


def test_answers_are_paged_through_with_every_row_once(browser: Browser, service: Running, done: str) -> None:
    text = service.get(f"/v1/jobs/{done}/results/q1").body.decode().splitlines()[1:]
    wanted = [line.split(",") for line in text]
    assert len(wanted) > 50
    with watched(browser, service.url) as found:
        page = found.open(PAGES["job"])
        settled(page, "job")
        pages = [shown_rows(page)]
        where = page.locator("#tab-panel .bar [role=status]")
        while page.get_by_role("button", name="Next").first.is_enabled():
            before = where.text_content() or ""
            page.get_by_role("button", name="Next").first.click()
            expect(where).not_to_have_text(before)
            pages.append(shown_rows(page))
        assert [row for each in pages for row in each] == wanted
        page.get_by_role("button", name="Previous").first.click()
        expect(where).not_to_have_text(re.compile(f"–{len(wanted)} "))
        assert shown_rows(page) == pages[-2]


def test_charts_fit_their_answers(browser: Browser, service: Running, done: str) -> None:
    with watched(browser, service.url) as found:
        page = found.open(PAGES["job"])
        settled(page, "job")
        chart = page.locator("#tab-panel .chart")
        expect(chart).to_have_count(0)
        page.get_by_role("tab", name=re.compile("^q2")).click()
        expect(chart).to_have_attribute("aria-label", re.compile("^Lines: .* by 2024-01 to "))
        # All months, not only those of the page that the table shows.
        expect(page.locator("#tab-panel .series circle")).to_have_count(36)
        highest = page.locator("#tab-panel .chart .grid").last.text_content()
        page.get_by_label("Chart of").select_option("profit")
        expect(page.locator("#tab-panel .chart .grid").last).not_to_have_text(highest or "")
        page.get_by_role("tab", name=re.compile("^q4")).click()
        expect(chart).to_have_attribute("aria-label", re.compile("^Bars: purchases"))
        # All 30 rows, not only the 25 of the page that the table shows.
        assert page.locator("#tab-panel .chart .bar").count() == 30


@pytest.mark.parametrize(
    "form", ["csv", *(pytest.param(each, marks=pytest.mark.slow) for each in ("json", "parquet", "arrow"))]
)
def test_an_answer_is_downloaded_in_every_form(
    browser: Browser, service: Running, done: str, form: str, tmp_path: Path
) -> None:
    with watched(browser, service.url) as found:
        page = found.open(PAGES["job"])
        settled(page, "job")
        with page.expect_download() as saving:
            page.locator("#tab-panel .downloads").get_by_role("button", name=form).click()
        assert saving.value.suggested_filename == f"{done}-q1.{form}"
        saving.value.save_as(tmp_path / "saved")
        assert (tmp_path / "saved").read_bytes() == service.get(f"/v1/jobs/{done}/results/q1?format={form}").body


def test_the_page_shows_the_same_text_as_the_command(browser: Browser, service: Running, done: str) -> None:
    with watched(browser, service.url) as found:
        page = found.open(PAGES["job"])
        expect(page.locator(".why")).to_have_text(str(service.get(f"/v1/jobs/{done}/why").json()["why"]))


def test_several_jobs_are_cancelled_with_one_command(browser: Browser, service: Running) -> None:
    names = ["unwanted-1", "unwanted-2", "unwanted-3"]
    with watched(browser, service.url) as found:
        page = found.open()
        for name in names:
            service.create(name, "coffee", ["q1"])
        for name in names:
            # They appear by themselves.
            page.get_by_label(f"Choose job {name}").check()
        page.get_by_role("button", name="Cancel 3 jobs").click()
        found.assert_accessible()
        page.get_by_role("dialog").get_by_role("button", name="Cancel 3 jobs").click()
        for name in names:
            row = page.locator("table.jobs tbody tr").filter(has=page.get_by_role("link", name=name, exact=True))
            expect(row.locator(".state")).to_have_text("cancelled")
    assert {service.state(name) for name in names} == {"cancelled"}


def test_a_job_is_cancelled_from_its_page(browser: Browser, service: Running) -> None:
    service.create("regretted", "coffee", ["q1"])
    with watched(browser, service.url) as found:
        page = found.open("#/job/regretted")
        expect(page.locator(".why")).to_contain_text("waits for its client")
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("dialog")).to_contain_text("Cancel job regretted?")
        page.keyboard.press("Enter")
        expect(page.locator("h1 + .state")).to_have_text("cancelled")
    assert service.state("regretted") == "cancelled"


def test_an_unknown_job_is_reported_on_its_page(browser: Browser, service: Running) -> None:
    with watched(browser, service.url) as found:
        page = found.open("#/job/nobody")
        expect(page.locator(".why")).to_contain_text("there is no job nobody")
        assert found.refusals[0][0] == 404
        # The browser itself notes the 404 on its console; nothing else may be there.
        assert all("404" in each for each in found.complaints)
        found.complaints.clear()


def test_text_from_outside_stays_text(browser: Browser, service: Running) -> None:
    hostile = "<img src=x onerror=window.hit=1> distributed"
    head = b"Title,description,authors,image,previewLink,publisher,publishedDate,infoLink,categories,ratingsCount\n"
    row = f"{hostile},,\"['<b>bold</b>']\",,,<script>window.hit=1</script>,2005,,\"['Computers']\",1\n".encode()
    service.create("hostile", "books", ["q1"])
    put = service.ask("PUT", "/v1/jobs/hostile/tables/books/parts/0", head + row, {"Content-Type": "text/csv"})
    assert put.status == 201
    service.complete("hostile", "books", 1)
    service.wait_done("hostile")
    with watched(browser, service.url) as found:
        page = found.open("#/job/hostile")
        settled(page, "job")
        assert shown_rows(page) == [[hostile, "<b>bold</b>", "<script>window.hit=1</script>"]]
        assert page.evaluate("window.hit") is None
        assert page.locator("main img").count() == 0


@pytest.mark.slow
def test_the_theme_is_chosen_and_kept(browser: Browser, service: Running) -> None:
    with watched(browser, service.url) as found:
        page = found.open()
        colour = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(colour)
        page.get_by_role("button", name="Theme: auto").click()
        page.get_by_role("button", name="Theme: light").click()
        expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
        dark = page.evaluate(colour)
        assert dark != light
        page.reload()
        expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
        assert page.evaluate(colour) == dark


@pytest.mark.slow
def test_a_token_is_requested_once_and_used_for_all_requests(browser: Browser, tmp_path: Path) -> None:
    from cauce.gateway.tokens import FILE, create_token

    (tmp_path / "service").mkdir()
    token = create_token(tmp_path / "service" / FILE, "maria")
    with Running(tmp_path, "gateway", "--require-token", token=token) as guarded:
        guarded.create("hers", "coffee", ["q1"])
        with watched(browser, guarded.url) as found:
            page = found.open()
            found.assert_accessible()
            page.get_by_role("textbox", name="Token").fill(token)
            page.get_by_role("button", name="Use this token").click()
            page.get_by_role("link", name="hers", exact=True).click()
            expect(page.locator(".why")).to_contain_text("waits for its client")
            assert page.evaluate("sessionStorage.length") == 1
            assert page.evaluate("localStorage.length") == 0
            assert {status for status, _ in found.refusals} == {401}
            found.complaints.clear()


def test_the_keyboard_goes_on_in_the_page_that_it_opened(browser: Browser, service: Running, done: str) -> None:
    with watched(browser, service.url) as found:
        page = found.open()
        link_of(page, done).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=done)).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.locator("main").get_by_role("link", name="Jobs")).to_be_focused()


def test_a_page_that_the_keyboard_opened_has_no_frame(browser: Browser, service: Running, done: str) -> None:
    with watched(browser, service.url) as found:
        page = found.open()
        link_of(page, done).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=done)).to_be_visible()
        expect(page.locator("main")).to_be_focused()
        expect(page.locator("main")).to_have_css("outline-style", "none")


@pytest.mark.parametrize("address", ["", "#/", "#/jobs"])
def test_the_first_page_is_the_list_of_jobs(address: str, browser: Browser, service: Running) -> None:
    with watched(browser, service.url) as found:
        page = found.open(address)
        expect(page.locator("nav a[aria-current=page]")).to_have_text("Jobs")


def test_a_new_job_leads_to_tables_of_ones_own(browser: Browser, service: Running) -> None:
    with watched(browser, service.url) as found:
        page = found.open("#/new")
        expect(page.locator("main")).to_contain_text("For tables of your own run ./cauce upload")
        page.locator("main").get_by_role("link", name="SQL").click()
        expect(page.locator("h1")).to_have_text("SQL")
