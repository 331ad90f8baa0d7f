"""docs/service.md covers all commands and error codes of a client. Its commands are run with those of the other
pages."""

from __future__ import annotations

import re

from cauce.datasets import load
from tests.docs.pages import ROOT, blocks, text_of

PAGE = ROOT / "docs/service.md"


def test_the_page_shows_every_command_of_the_client() -> None:
    shown = "\n".join(block.code for block in blocks(PAGE))
    for command in (
        "submit",
        "jobs",
        "status",
        "watch",
        "results",
        "rejects",
        "why",
        "cancel",
        "serve",
        "upload",
        "drop",
    ):
        assert f"./cauce {command}" in shown


def test_page_lists_every_error_code_of_the_service() -> None:
    """The error codes in the gateway's source."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/cauce/gateway").glob("*.py"))
    codes = set(re.findall(r'status, code = \d+, "([a-z-]+)"', source))
    codes |= set(re.findall(r'HttpError\(\s*\d+,\s*"([a-z-]+)"', source))
    assert codes
    assert [code for code in sorted(codes) if f"`{code}`" not in text_of(PAGE)] == []


def test_query_q1_needs_the_table_that_the_page_sends() -> None:
    assert [spec.name for spec in load("coffee").plan(["q1"]).tables] == ["transactions"]
