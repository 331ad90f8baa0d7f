"""The table of options in docs/configuration.md is up to date."""

from __future__ import annotations

from scripts.configuration import PAGE, with_table

from tests.docs.pages import text_of


def test_table_of_options_is_up_to_date() -> None:
    page = text_of(PAGE)
    assert with_table(page) == page, "run .venv/bin/python scripts/configuration.py"
    assert "| `serve.port` | `CAUCE_SERVE_PORT` | whole number | `8080` |" in page
