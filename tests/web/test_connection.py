"""The page while the service is away, and with a wrong token."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from cauce.gateway.tokens import FILE, create_token
from tests.service.running import Running
from tests.web import shop
from tests.web.browsing import watched

PAGES = ("#/jobs", "#/job/waiting", "#/new", "#/sql")


def banner(page: Page) -> None:
    expect(page.locator("#connection")).to_contain_text("Cannot reach the service; retrying")


@pytest.mark.slow
def test_a_stopped_gateway_is_reported_and_the_page_recovers(browser: Browser, tmp_path: Path) -> None:
    with Running(tmp_path, "gateway") as gateway, watched(browser, gateway.url) as found:
        gateway.create("waiting", "coffee", ["q1"])
        shop.write_files(tmp_path)
        shop.keep(gateway, tmp_path)
        others = {where: found.page.context.new_page() for where in PAGES[1:]}
        for where, page in others.items():
            page.goto(f"{gateway.url}/{where}")
        page = found.open(PAGES[0])
        expect(page.get_by_role("link", name="waiting")).to_be_visible()
        expect(others["#/job/waiting"].locator(".why")).to_contain_text("waits for its client")
        expect(others["#/new"].locator(".query").first).to_be_visible()
        statements = others["#/sql"].get_by_role("textbox", name="Statements")
        statements.fill("SELECT count(*) AS n FROM orders")
        expect(others["#/sql"].locator("#sql-finding")).to_contain_text("q1 (n bigint)")
        gateway.stop()
        for each in (page, *others.values()):
            banner(each)
        others["#/sql"].get_by_role("button", name="Run", exact=True).click()
        expect(others["#/sql"].locator("#sql-finding")).to_contain_text("Cannot reach the service")
        found.assert_fits()
        found.screenshot("unreachable")
        with Running(tmp_path, "gateway", port=gateway.port) as again:
            for each in (page, *others.values()):
                expect(each.locator("#connection")).to_be_empty()
            again.create("created-afterwards", "coffee", ["q1"])
            expect(page.get_by_role("link", name="created-afterwards")).to_be_visible()
            others["#/sql"].get_by_role("button", name="Run", exact=True).click()
            expect(others["#/sql"].locator(".sql-job .why")).to_contain_text("is running")
        # The browser notes the refused connections on its console; nothing else may be there.
        assert all(re.search("ERR_|Failed to load resource", each) for each in found.complaints), found.complaints
        found.complaints.clear()


@pytest.fixture
def guarded(tmp_path: Path) -> tuple[Path, str]:
    (tmp_path / "service").mkdir()
    return tmp_path, create_token(tmp_path / "service" / FILE, "maria")


@pytest.mark.slow
def test_a_wrong_token_is_reported_and_can_be_corrected_with_enter(browser: Browser, guarded: tuple[Path, str]) -> None:
    folder, token = guarded
    with Running(folder, "gateway", "--require-token", token=token) as gateway:
        gateway.create("hers", "coffee", ["q1"])
        with watched(browser, gateway.url) as found:
            page = found.open()
            box = page.get_by_role("textbox", name="Token")
            expect(box).to_be_focused()
            for wrong, message in (
                ("", "Enter a token"),
                ("señal-名前", "not a token"),
                (token[:-1] + "_", "does not accept this token"),
            ):
                box.fill(wrong)
                page.keyboard.press("Enter")
                expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(message)
                expect(box).to_be_focused()
            found.assert_accessible()
            found.screenshot("wrong-token", whole=False)
            box.fill(token)
            page.keyboard.press("Enter")
            expect(page.get_by_role("dialog")).to_have_count(0)
            expect(page.get_by_role("link", name="hers", exact=True)).to_be_visible()
            page.evaluate("sessionStorage.clear()")
            page.reload()
            expect(box).to_be_focused()
            page.keyboard.press("Escape")
            expect(page.get_by_role("button", name="Enter a token")).to_be_visible()
            page.goto(f"{gateway.url}/#/sql")
            box.press("Escape")
            expect(page.get_by_role("main").get_by_role("alert")).to_be_visible()
            page.get_by_role("button", name="Enter a token").click()
            box.fill(token)
            page.keyboard.press("Enter")
            expect(page.get_by_text("No dataset is kept yet")).to_be_visible()
            found.complaints.clear()
