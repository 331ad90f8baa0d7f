"""The sections of a job as tabs: their addresses, their keys, and their notes; rejects by reason."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.service.running import Running, pieces_of
from tests.web import river
from tests.web.browsing import watched

SECTIONS = ["Results", "Plan", "Rejects", "Timeline", "Inputs"]


def section(page: Page, name: str) -> Locator:
    return page.get_by_role("tablist", name="Sections of the job").get_by_role("tab", name=re.compile(f"^{name}"))


def expect_open(page: Page, name: str) -> None:
    expect(section(page, name)).to_have_attribute("aria-selected", "true")
    expect(page.locator(".page-panel:visible")).to_have_count(1)
    expect(page.locator(".page-panel:visible")).to_have_id(f"section-{name.lower()}")


def test_each_section_has_an_address(browser: Browser, service: Running, done: str) -> None:
    with watched(browser, service.url) as found:
        page = found.open(f"#/job/{done}")
        expect_open(page, "Results")
        for name in SECTIONS[1:]:
            section(page, name).click()
            expect_open(page, name)
            assert page.url.endswith(f"#/job/{done}/{name.lower()}")
        page.reload()
        expect_open(page, "Inputs")
        page.go_back()
        expect_open(page, "Timeline")


def test_sections_are_reached_by_arrows(browser: Browser, service: Running, done: str) -> None:
    with watched(browser, service.url) as found:
        page = found.open(f"#/job/{done}")
        section(page, "Results").focus()
        page.keyboard.press("ArrowRight")
        expect_open(page, "Plan")
        expect(section(page, "Plan")).to_be_focused()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        expect_open(page, "Inputs")
        page.keyboard.press("Home")
        expect_open(page, "Results")
        page.keyboard.press("Tab")
        expect(section(page, "Results")).not_to_be_focused()


def test_an_answer_has_an_address(browser: Browser, service: Running, done: str) -> None:
    with watched(browser, service.url) as found:
        page = found.open(f"#/job/{done}/results/q3")
        chosen = page.get_by_role("tab", name=re.compile("^q3"))
        expect(chosen).to_have_attribute("aria-selected", "true")
        page.get_by_role("tab", name=re.compile("^q4")).click()
        assert page.url.endswith("/results/q4")
        page.go_back()
        expect(chosen).to_have_attribute("aria-selected", "true")


def test_a_job_that_is_not_done_opens_with_its_plan(browser: Browser, service: Running, failed_job: str) -> None:
    with watched(browser, service.url) as found:
        page = found.open(f"#/job/{failed_job}")
        expect_open(page, "Plan")
        expect(section(page, "Plan")).to_contain_text("failed")
        expect(section(page, "Results")).to_contain_text("0 of 1")


def test_a_watched_job_shows_its_results_when_it_is_done(browser: Browser, service: Running, coffee: Path) -> None:
    service.create("watched", "coffee", ["q3"])
    service.create("watched-closely", "coffee", ["q3"])
    pieces = pieces_of("coffee", coffee, 2**20, ["q3"])
    with watched(browser, service.url) as found:
        page = found.open("#/job/watched")
        expect_open(page, "Plan")
        service.upload("watched", pieces)
        expect_open(page, "Results")
        page = found.open("#/job/watched-closely")
        expect_open(page, "Plan")
        section(page, "Timeline").click()
        service.upload("watched-closely", pieces)
        expect(page.locator("h1 + .state")).to_have_text("done")
        expect_open(page, "Timeline")


def test_rejects_are_grouped_by_reason(browser: Browser, service: Running, rejecting_job: str) -> None:
    rejects = service.get(f"/v1/jobs/{rejecting_job}/rejects?format=csv").body.decode().splitlines()[1:]
    numbers = sum("not a number" in line for line in rejects)
    with watched(browser, service.url) as found:
        page = found.open(f"#/job/{rejecting_job}")
        expect(section(page, "Rejects")).to_contain_text(str(len(rejects)))
        section(page, "Rejects").click()
        groups = page.locator(".reason-list > li")
        expect(groups).to_have_count(2)
        expect(groups.first).to_contain_text("not a number")
        expect(groups.first).to_contain_text(river.FLOW)
        expect(groups.first.locator(".reason-count")).to_have_text(re.compile(f"^{numbers} "))
        groups.first.locator("summary").click()
        expect(groups.first.locator(".examples li")).to_have_count(5)
        expect(groups.first.locator(".examples li").first).to_have_text("readings.csv:98n/a")
        found.assert_accessible()
        found.picture("rejects")
        # A whole record has no column.
        empty = page.locator(".all-rejects td.null").first
        assert empty.evaluate("cell => getComputedStyle(cell, '::before').content") == '"–"'


def test_a_job_without_rejects_says_so(browser: Browser, service: Running, done: str) -> None:
    with watched(browser, service.url) as found:
        page = found.open(f"#/job/{done}/rejects")
        expect(page.locator(".empty-box")).to_contain_text("No rejects")
        expect(page.get_by_role("heading", name="All rejects")).to_be_hidden()
