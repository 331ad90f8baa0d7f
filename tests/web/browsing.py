"""A page of the dashboard in a real browser, and what is wrong with it: errors on its console, failed requests, and
what an accessibility checker finds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Response

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first one takes a sixth less processor time."""
WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 390, "height": 780}
PATIENCE_MS = 30_000
PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
SCREENSHOTS = Path(__file__).parents[2] / ".cache" / "screenshots"
"""Kept by every run for people to look at; git ignores them."""


def browser_path() -> str:
    """Where a browser is. Without one the test is skipped, or fails where CI is set."""
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        reason = "there is no Chromium here; on Debian: apt-get install chromium-headless-shell"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


class Watched:
    """A page whose every complaint is kept."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        self.refusals: list[tuple[int, str]] = []
        self.bytes = 0
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.refusals.append((response.status, response.url))

    def open(self, where: str = "") -> Page:
        self.page.goto(f"{self.url}/{where}")
        return self.page

    def assert_accessible(self) -> None:
        found = Axe().run(self.page)
        problems = [
            f"{each['id']}: {each['help']} ({node['html'][:200]})"
            for each in found.response["violations"]
            for node in each["nodes"]
        ]
        assert problems == [], problems

    def screenshot(self, name: str, *, whole: bool = True) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=whole)

    def assert_fits(self) -> None:
        """Nothing makes the page itself scroll sideways."""
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{wide} pixels do not fit"

    def picture(self, name: str) -> None:
        """Kept for the documentation, where that is asked for."""
        if os.environ.get("CAUCE_PICTURES"):
            PICTURES.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=PICTURES / f"{name}.png")


@contextmanager
def watched(browser: Browser, url: str, *, narrow: bool = False, dark: bool = False, **more: Any) -> Iterator[Watched]:
    """A page of its own. At the end it must not have complained of anything."""
    theme: Any = "dark" if dark else "light"
    context = browser.new_context(
        viewport=NARROW if narrow else WIDE,
        color_scheme=theme,
        accept_downloads=True,
        **more,  # type: ignore[arg-type]
    )
    found = Watched(context.new_page(), url)
    try:
        yield found
        assert found.complaints == []
    finally:
        context.close()
