"""Lines on standard error are those of Rich, which is loaded only where it styles them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from cauce.terminal.console import print_plain_error


@pytest.fixture(autouse=True)
def _without_forced_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("line", ["a [b] c", "  x" * 60, "Café – 名 'x' \\n", ""])
def test_a_plain_line_is_the_one_that_rich_prints(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = io.StringIO()
    Console(file=printed, highlight=False).print(Text(line), soft_wrap=True)
    assert print_plain_error(line)
    assert capsys.readouterr().err == printed.getvalue()


@pytest.mark.parametrize("line", ["a\x1b[31m", "a\nb", "a\tb"])
def test_characters_that_rich_changes_are_left_to_it(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert not print_plain_error(line)
    assert not capsys.readouterr().err


def test_forced_colours_are_left_to_rich(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not print_plain_error("a")
    assert not capsys.readouterr().err
