"""The list of jobs when there are many: search, filter by state, pages, dates; and its dialogs by keyboard."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from cauce.gateway.tokens import FILE, create_token
from tests.service.running import Running
from tests.web import river
from tests.web.browsing import watched

MANY = 30
PAGE_JOBS = 25


@pytest.fixture(scope="package")
def many(service: Running) -> list[str]:
    """Jobs that were created, every third of them cancelled."""
    names = [f"listed-{number:02}" for number in range(MANY)]
    for number, name in enumerate(names):
        assert service.create(name, "coffee", ["q1"]).status == 201
        if number % 3 == 0:
            assert service.ask("DELETE", f"/v1/jobs/{name}").status == 200
    return names


def rows(page: Page) -> Locator:
    return page.locator("table.jobs tbody tr")


def chip(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name="Jobs by state").get_by_role("button", name=re.compile(f"^{name} "))


def search(page: Page, text: str) -> None:
    page.get_by_role("searchbox", name="Search jobs").fill(text)


def test_jobs_are_found_by_id_and_by_dataset(
    browser: Browser, service: Running, many: list[str], river_job: str
) -> None:
    with watched(browser, service.url) as found:
        page = found.open("#/jobs")
        search(page, "LISTED-07")
        expect(rows(page)).to_have_count(1)
        expect(page.get_by_role("link", name=many[7], exact=True)).to_be_visible()
        search(page, river.NAME[:20])
        expect(page.get_by_role("link", name=river_job, exact=True)).to_be_visible()
        expect(page.get_by_role("link", name=many[7], exact=True)).to_have_count(0)
        search(page, "no such job")
        page.get_by_role("button", name="Show all jobs").click()
        expect(rows(page)).to_have_count(PAGE_JOBS)


def test_states_are_named_with_their_counts(browser: Browser, service: Running, many: list[str]) -> None:
    cancelled = len(many[::3])
    with watched(browser, service.url) as found:
        page = found.open("#/jobs")
        search(page, "listed-")
        expect(chip(page, "All")).to_have_text(f"All {MANY}")
        expect(chip(page, "Active")).to_have_text(f"Active {MANY - cancelled}")
        expect(chip(page, "Cancelled")).to_have_text(f"Cancelled {cancelled}")
        expect(chip(page, "Failed")).to_have_text("Failed 0")
        chip(page, "Cancelled").click()
        expect(rows(page)).to_have_count(cancelled)
        assert set(rows(page).locator(".state").all_text_contents()) == {"cancelled"}


@pytest.mark.slow
def test_many_jobs_are_shown_in_pages(browser: Browser, service: Running, many: list[str]) -> None:
    with watched(browser, service.url) as found:
        page = found.open("#/jobs")
        search(page, "listed-")
        pager = page.get_by_role("navigation", name="Pages of jobs")
        expect(pager).to_contain_text(f"1–{PAGE_JOBS} of {MANY} jobs")
        first = rows(page).locator(".job-link").all_text_contents()
        pager.get_by_role("button", name="Older").click()
        expect(rows(page)).to_have_count(MANY - PAGE_JOBS)
        assert first + rows(page).locator(".job-link").all_text_contents() == many[::-1]
        found.assert_accessible()


@pytest.mark.slow
def test_the_list_shows_the_date_and_the_age_of_a_job(browser: Browser, service: Running, many: list[str]) -> None:
    created = service.get(f"/v1/jobs/{many[1]}").json()["created"]
    assert isinstance(created, float)
    with watched(browser, service.url, timezone_id="America/Argentina/Buenos_Aires") as found:
        page = found.open("#/jobs")
        search(page, many[1])
        expect(rows(page)).to_have_count(1)
        shown = rows(page).locator("time")
        expect(shown).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$"))
        # Buenos Aires has been three hours behind UTC since 2009.
        wanted = datetime.fromtimestamp(created - 3 * 3600, tz=None).astimezone().timestamp()
        text = shown.text_content() or ""
        assert abs(datetime.fromisoformat(text).timestamp() - wanted) < 1
        expect(rows(page)).to_contain_text(re.compile(r"just now|\d+ (s|min|h) ago"))


def test_enter_ends_the_chosen_jobs_and_escape_keeps_them(browser: Browser, service: Running) -> None:
    service.create("kept-then-cancelled", "coffee", ["q1"])
    with watched(browser, service.url) as found:
        page = found.open("#/jobs")
        search(page, "kept-then-cancelled")
        page.get_by_label("Choose job kept-then-cancelled").check()
        button = page.get_by_role("button", name="Cancel 1 job")
        button.click()
        expect(page.get_by_role("dialog")).to_contain_text("Cancel job kept-then-cancelled?")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert service.state("kept-then-cancelled") == "created"
        button.click()
        page.keyboard.press("Enter")
        expect(rows(page).locator(".state")).to_have_text("cancelled")
    assert service.state("kept-then-cancelled") == "cancelled"


@pytest.mark.slow
def test_a_notice_covers_no_control_and_can_be_closed(browser: Browser, service: Running) -> None:
    service.create("noticed", "coffee", ["q1"])
    with watched(browser, service.url) as found:
        page = found.open("#/jobs")
        search(page, "noticed")
        page.get_by_label("Choose job noticed").check()
        page.get_by_role("button", name="Cancel 1 job").click()
        page.keyboard.press("Enter")
        expect(page.locator(".notice")).to_have_text(re.compile("Job noticed was cancelled"))
        found.screenshot("notice", whole=False)
        covered = page.locator("main a, main button, main input, header a, header button").evaluate_all(
            """all => all.filter(each => {
              const box = each.getBoundingClientRect();
              if (!box.width || box.bottom > innerHeight) return false;
              const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
              return !each.contains(top);
            }).map(each => each.outerHTML)"""
        )
        assert covered == []
        page.get_by_role("button", name="Close this notice").click()
        expect(page.locator(".notice")).to_have_count(0)


@pytest.mark.slow
def test_notices_go_away_by_themselves(browser: Browser, service: Running) -> None:
    with watched(browser, service.url) as found:
        found.page.clock.install()
        page = found.open("#/new")
        expect(page.locator(".query").first).to_be_visible()
        page.locator("#pick-files").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"text"})
        expect(page.locator(".notice.bad")).to_contain_text("Left out: a.txt")
        page.clock.run_for(20_000)
        expect(page.locator(".notice")).to_have_count(0)


def test_jobs_are_filtered_by_dataset(browser: Browser, service: Running, many: list[str], river_job: str) -> None:
    with watched(browser, service.url) as found:
        page = found.open("#/jobs")
        page.get_by_label("Dataset").select_option(river.NAME)
        expect(page.get_by_role("link", name=river_job, exact=True)).to_be_visible()
        expect(page.get_by_role("link", name=many[-1], exact=True)).to_have_count(0)
        page.get_by_role("button", name="Clear filters").click()
        expect(page.get_by_role("link", name=many[-1], exact=True)).to_be_visible()


@pytest.mark.usefixtures("many")
def test_jobs_are_filtered_by_date(browser: Browser, service: Running) -> None:
    today = date.today()
    with watched(browser, service.url) as found:
        page = found.open("#/jobs")
        expect(rows(page)).to_have_count(PAGE_JOBS)
        page.get_by_label("Started on or after").fill((today + timedelta(days=2)).isoformat())
        expect(page.get_by_text("No job matches.")).to_be_visible()
        page.get_by_label("Started on or after").fill((today - timedelta(days=2)).isoformat())
        expect(rows(page)).to_have_count(PAGE_JOBS)
        page.get_by_label("Started on or before").fill((today - timedelta(days=2)).isoformat())
        expect(page.get_by_text("No job matches.")).to_be_visible()


def test_the_address_keeps_the_filters(browser: Browser, service: Running, many: list[str]) -> None:
    with watched(browser, service.url) as found:
        page = found.open("#/jobs")
        search(page, "listed-")
        chip(page, "Cancelled").click()
        expect(rows(page)).to_have_count(len(many[::3]))
        page.reload()
        expect(rows(page)).to_have_count(len(many[::3]))
        expect(page.get_by_role("searchbox", name="Search jobs")).to_have_value("listed-")
        expect(chip(page, "Cancelled")).to_have_attribute("aria-pressed", "true")


@pytest.mark.usefixtures("river_job", "sql_job", "rejecting_job")
def test_times_and_failures_of_the_last_jobs_are_drawn(
    browser: Browser, service: Running, done: str, failed_job: str
) -> None:
    with watched(browser, service.url) as found:
        page = found.open("#/jobs")
        expect(rows(page).first).to_be_visible()
        found.picture("jobs")
        history = page.get_by_role("region", name="Times of the last jobs")
        search(page, failed_job)
        expect(history.locator(".numbers")).to_contain_text("1 of 1")
        expect(history.locator(".took.failed")).to_have_count(1)
        search(page, done)
        expect(history.locator(".numbers")).to_contain_text("0 of ")
        status = service.get(f"/v1/jobs/{done}").json()
        took_s = float(str(status["ended"])) - float(str(status["created"]))
        bar = history.locator(".took").filter(has_text=f"{done}: done")
        expect(bar).to_have_count(1)
        shown = re.search(r"done, ([\d.]+) s", bar.text_content() or "")
        assert shown is not None
        assert float(shown[1]) == pytest.approx(took_s, abs=0.51)
        bar.click()
        expect(page.locator("h1")).to_have_text(done)


def test_the_operator_filters_the_jobs_of_all_clients(browser: Browser, tmp_path: Path) -> None:
    secrets = {name: create_token(tmp_path / "service" / FILE, name) for name in ("maria", "otto")}
    with Running(tmp_path, "gateway") as gateway:
        body, kind = b'{"dataset": "coffee", "queries": ["q1"]}', {"Content-Type": "application/json"}
        for secret in (*secrets.values(), ""):
            assert gateway.ask("PUT", "/v1/jobs/same-id", body, kind, token=secret).status == 201
        with watched(browser, gateway.url) as found:
            page = found.open("#/jobs")
            expect(rows(page)).to_have_count(3)
            expect(page.get_by_role("link", name="same-id", exact=True)).to_have_count(1)
            found.assert_accessible()
            found.screenshot("jobs-of-all-clients", whole=False)
            client = page.get_by_role("combobox", name="Client")
            maria = client.locator("option", has_text="maria").inner_text()
            client.select_option(maria)
            expect(rows(page)).to_have_count(1)
            expect(rows(page).get_by_role("checkbox")).to_be_disabled()
            expect(rows(page).get_by_role("link")).to_have_count(0)
            client.select_option("local")
            expect(rows(page).get_by_role("checkbox")).to_be_enabled()
            expect(rows(page).get_by_role("link", name="same-id")).to_be_visible()
