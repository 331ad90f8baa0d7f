"""The site that `scripts/site.sh` builds: every page is in it, its links have targets, and its search finds words.

Skipped where the generator cannot be installed; tests/docs/test_links.py checks the links of the Markdown pages anyway.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import sync_playwright
from scripts.reference import pages as reference_pages
from scripts.site_pages import mend_tables

from tests.docs.pages import PAGES, ROOT, name_of
from tests.web.browsing import browser_path, watched

SCRIPT = ROOT / "scripts/site.sh"
NOT_INSTALLED = 3
"""Exit code of the script if the generator cannot be installed."""


class Html(HTMLParser):
    """The links of a page, and the anchors that links may name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value is not None:
                self.links.append(value)
            if name in ("id", "name") and value is not None:
                self.anchors.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run([str(SCRIPT), str(target)], capture_output=True, text=True, check=False)
    if done.returncode == NOT_INSTALLED:
        pytest.skip(f"the generator of the site cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return target


def html_of(site: Path, page: Path) -> Path:
    """The file that a page of the project becomes: README.md is the index of its directory."""
    relative = page.relative_to(ROOT).with_suffix("")
    folder = relative.parent if relative.name == "README" else relative
    return site / folder / "index.html"


def dangling(site: Path) -> Iterator[str]:
    """The links of all pages to files and anchors that the site does not have."""
    pages = {path: Html(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        # Its links are absolute: a server shows it at any address.
        for link in page.links if path.name != "404.html" else []:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in pages[target].anchors):
                yield f"{path.relative_to(site)}: {link}"


@pytest.mark.slow
def test_every_page_is_in_the_site(site: Path) -> None:
    assert [name_of(page) for page in PAGES if not html_of(site, page).is_file()] == []


@pytest.mark.slow
def test_links_of_the_site_have_targets(site: Path) -> None:
    assert list(dangling(site)) == []


@pytest.mark.slow
@pytest.mark.parametrize("heading", ["Deduplicate a CSV file", "agg.sum", "Relation.group_by", "The work folder"])
def test_search_index_has_headings_of_pages_and_of_the_reference(site: Path, heading: str) -> None:
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    assert heading in {item["title"] for item in index["items"]}


def navigation() -> set[str]:
    """The pages that the menu of the site lists."""
    return set(re.findall(r'= "([^"]+\.md)"', (ROOT / "zensical.toml").read_text(encoding="utf-8")))


def test_menu_lists_every_page_but_single_decisions() -> None:
    reference = {f"docs/reference/{name}" for name in reference_pages()}
    written = {name_of(page) for page in PAGES if not re.match(r"\d{4}-", page.name)}
    assert navigation() == written | reference


@pytest.mark.slow
def test_the_library_of_diagrams_is_a_file_of_the_site(site: Path) -> None:
    (script,) = site.glob("assets/javascripts/bundle.*.js")
    assert not re.search(r'"https://[^"]*mermaid', script.read_text(encoding="utf-8"))
    assert 'globalThis["mermaid"]' in script.with_name("mermaid.js").read_text(encoding="utf-8")


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    handler = partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Nothing: the requests are not of interest."""


SEEN = ("", "docs/cookbook", "docs/sql", "docs/reference/aggregates", "docs/glossary", "docs/architecture")
"""Pages of all kinds; the last one has diagrams."""


@pytest.mark.soak
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_pages_are_accessible_and_fetch_nothing_from_elsewhere(site: Path, address: str, look: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        with watched(browser, address, narrow=look == "phone", dark=look == "dark") as seen:
            asked: list[str] = []
            seen.page.on("request", lambda request: asked.append(request.url))
            for page in SEEN:
                seen.open(page)
                seen.page.wait_for_load_state("networkidle")
                seen.assert_accessible()
                seen.assert_fits()
                seen.screenshot(f"site-{page.replace('/', '-') or 'home'}-{look}", whole=False)
            assert seen.page.evaluate("typeof mermaid.render") == "function"
            assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
        browser.close()


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("<thead>\n<tr>\n<th></th>\n<th></th>\n</tr>\n</thead>\n<tbody>", "\n<tbody>"),
        ("<thead><tr><th></th><th>time</th></tr></thead>", "<thead><tr><td></td><th>time</th></tr></thead>"),
    ],
)
def test_empty_heads_of_tables_are_removed(table: str, expected: str) -> None:
    assert mend_tables(table) == expected


@pytest.mark.parametrize("link", ["gone/", "other.html#gone", "#gone", "gone.png"])
def test_dangling_link_is_detected(tmp_path: Path, link: str) -> None:
    (tmp_path / "other.html").write_text('<h1 id="here">Other</h1>')
    (tmp_path / "index.html").write_text(f'<a href="other.html#here">fine</a><a href="{link}">dangling</a>')
    assert list(dangling(tmp_path)) == [f"index.html: {link}"]


def test_directory_that_the_script_has_not_written_is_kept(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("precious")
    done = subprocess.run([str(SCRIPT), str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, "choose another directory" in done.stderr) == (1, True), done.stderr
    assert (tmp_path / "notes.txt").read_text() == "precious"
