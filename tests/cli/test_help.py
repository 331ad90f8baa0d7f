"""Help: commands in sections, nothing truncated, plain placeholders, `-h`, nothing installed or loaded for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cauce.cli.help import OTHERS, SECTIONS
from tests.cli.parsing import commands

ROOT = Path(__file__).parents[2]
COMMANDS = commands()
OWN = {name: command for name, command in COMMANDS.items() if name != "bench"}
"""Those whose help we lay out: that of `bench` is written by its own parser."""


def help_of(words: str, option: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        COMMANDS[""].main([*words.split(), option], prog_name="cauce")
    assert not ended.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [80, 120])
def test_commands_are_listed_in_sections_with_their_whole_description(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    printed = help_of("", "--help", capsys)
    assert re.findall(r"^(\w[\w ]+):$", printed, re.MULTILINE) == ["Options", *SECTIONS]
    assert f"{OTHERS}:" not in printed
    assert "..." not in printed.partition("\n")[2]
    assert max(map(len, printed.splitlines())) <= width
    top = [name for name in COMMANDS if name and " " not in name]
    assert len(top) >= 28
    for name in top:
        assert re.search(rf"^  {name} +[A-Z].*\.$", printed, re.MULTILINE), name


@pytest.mark.parametrize("words", OWN)
def test_every_option_and_argument_has_a_help_text_and_a_plain_placeholder(words: str) -> None:
    for each in OWN[words].params:
        shown = each.opts[0]
        assert each.help, f"{words} {shown} has no help"
        assert each.metavar or getattr(each, "is_flag", False), f"{words} {shown} has no placeholder"


@pytest.mark.parametrize("words", OWN)
def test_short_and_long_help_are_the_same_and_fit_the_terminal(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = help_of(words, "-h", capsys)
    assert printed == help_of(words, "--help", capsys)
    assert printed.startswith(f"Usage: cauce {words}".strip())
    assert not re.search(r"<\w+|\{\w+\}|list\[", printed)
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize("words", ["run", "serve", "submit"])
def test_building_the_command_line_loads_no_library_for_output_or_data(words: str) -> None:
    """A command pays only for what it uses: neither Rich nor Polars is loaded before it starts."""
    program = (
        "import sys; sys.argv = ['cauce', *sys.argv[1:]]\n"
        "from cauce.cli.entry import entry\n"
        "try: entry()\n"
        "except SystemExit: pass\n"
        "heavy = {'rich', 'polars', 'numpy', 'cauce.datasets'} & set(sys.modules)\n"
        "sys.stderr.write(' '.join(sorted(heavy)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, words, "--help"], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_of_bench_is_printed_without_an_installation(option: str) -> None:
    """Run as a person does, where nothing can be downloaded: to install the peers would fail."""
    if not (ROOT / ".venv/bin/python").exists():
        pytest.skip("this clone has no environment of its own")
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(
        [ROOT / "cauce", "bench", option], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: cauce bench")
    assert "setting up" not in done.stderr
