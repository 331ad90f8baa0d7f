"""Every link within the project has a target, and every file that a page names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links, name_of, spans

PACKAGE = ROOT / "src/cauce"
LAYERS = tuple(sorted(each.name for each in PACKAGE.iterdir() if each.is_dir()))
OURS = ("src", "tests", "docs", "bench", "scripts", "examples", ".ci")
"""Directories of the project: every path below them must exist."""
ELSEWHERE = re.compile(r"^[a-z]+:")
PATH = re.compile(r"[\w.-]+(/[\w.-]+)+/?")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_have_targets(page: Path) -> None:
    assert [link for link in links(page) if not ELSEWHERE.match(link) and not leads(page, link)] == []


def leads(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_named_files_exist(page: Path) -> None:
    assert [span for span in spans(page) if is_file_of_ours(span) and not is_there(span)] == []


def is_file_of_ours(span: str) -> bool:
    """`tests/…`, `worker/loop.py` of the package, or `test_…py` by itself."""
    if re.fullmatch(r"test_\w+\.py", span):
        return True
    top = span.partition("/")[0]
    return PATH.fullmatch(span) is not None and (top in OURS or (top in LAYERS and span.endswith(".py")))


def is_there(span: str) -> bool:
    if "/" not in span:
        return any((ROOT / "tests").rglob(span))
    return (ROOT / span).exists() or (PACKAGE / span).exists()


def test_missing_targets_are_detected() -> None:
    page = ROOT / "README.md"
    assert is_file_of_ours("tests/worker/test_gone.py")
    assert not is_there("tests/worker/test_gone.py")
    assert not is_there("worker/gone.py")
    assert not leads(page, "docs/gone.md")
    assert not leads(page, "docs/reading.md#gone")
    assert leads(page, "docs/reading.md#rejects")


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if ".md" in link]
        waiting += [each for each in targets if each in PAGES]
    assert [name_of(page) for page in PAGES if page not in reached] == []


def test_every_decision_is_listed() -> None:
    listed = {link for link in links(ROOT / "docs/decisions/README.md") if link.startswith("0")}
    assert listed == {path.name for path in (ROOT / "docs/decisions").glob("0*.md")}
