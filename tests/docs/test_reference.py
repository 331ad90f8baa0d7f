"""The reference that `scripts/reference.py` writes covers every public name, and each one has a docstring."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest
from scripts.reference import body, members, pages, signature

import cauce
import cauce.client
import cauce.plan

PAGES = pages()
ENTRIES = {entry.shown: entry.value for page in PAGES.values() for entry in page.entries}


@pytest.mark.parametrize(
    ("module", "prefix"),
    [
        (cauce, "cauce."),
        (cauce.plan, "cauce."),
        (cauce.plan.agg, "agg."),
        (cauce.plan.window, "window."),
        (cauce.client, ""),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_every_exported_name_is_in_the_reference(module: ModuleType, prefix: str) -> None:
    names = [name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType) and name[0] != "_"]
    assert [name for name in names if prefix + name not in ENTRIES] == []


def test_every_public_name_and_method_has_a_docstring() -> None:
    silent = [shown for shown, value in ENTRIES.items() if callable(value) and not value.__doc__]
    for shown, value in ENTRIES.items():
        if isinstance(value, type):
            silent += [f"{shown}.{name}" for name, member in members(value) if not inspect.getdoc(member)]
    assert silent == []


def test_example_of_a_docstring_becomes_code() -> None:
    assert body("The sum.\n\n>>> a\n... b\n") == "The sum.\n\n```python\na\nb\n```"


def test_constant_has_the_text_below_its_assignment() -> None:
    text = PAGES["datasets.md"].markdown()
    assert "## cauce.POSITION\n\n```python\ncauce.POSITION  # '#position'\n```\n\nThe row's position" in text


def test_long_signature_has_a_line_for_each_parameter() -> None:
    lines = signature(cauce.run).splitlines()
    assert lines[0] == "("
    assert "    *," in lines
    assert "    workers: int | None = None," in lines
    assert lines[-1] == ") -> Answers"


def test_short_signature_is_one_line() -> None:
    assert signature(ENTRIES["agg.max"]) == "(column: str, *, where: pl.Expr | None = None) -> Aggregate"  # type: ignore[arg-type]
