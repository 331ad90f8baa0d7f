"""The examples in the docstrings of public names run. Where an example shows its output, the output is compared."""

from __future__ import annotations

import contextlib
import doctest
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.reference import pages

from tests.doctest_world import names

ROOT = Path(__file__).parents[1]
NEED_A_SERVICE = ("cauce.connect", "Service", "AsyncService")
"""Their examples are not run here: tests/docs/test_service_page.py and tests/client run such calls."""


def examples() -> Iterator[tuple[str, doctest.DocTest]]:
    """All docstrings with examples, of public names and of their public methods."""
    parser = doctest.DocTestParser()
    for page in pages().values():
        for entry in page.entries:
            if entry.shown in NEED_A_SERVICE:
                continue
            members = vars(entry.value) if isinstance(entry.value, type) else {}
            methods = {f"{entry.shown}.{name}": each for name, each in members.items() if not name.startswith("_")}
            for shown, value in {entry.shown: entry.value, **methods}.items():
                text = getattr(value, "__doc__", None)
                if isinstance(text, str) and ">>>" in text:
                    yield shown, parser.get_doctest(text, {}, shown, None, None)


FOUND = dict(examples())


def test_examples_are_found() -> None:
    assert {"cauce.run", "cauce.sql", "Answers", "agg.sum", "window.rank", "cauce.Relation.join"} <= set(FOUND)


@pytest.mark.parametrize("shown", FOUND)
def test_an_example_runs_and_shows_its_output(shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    namespace = names()
    for example in FOUND[shown].examples:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), monkeypatch.context() as patch:
            patch.setattr(sys, "displayhook", sys.__displayhook__)
            exec(compile(example.source, shown, "single"), namespace)  # noqa: S102
        if example.want:
            assert output.getvalue() == example.want, example.source
