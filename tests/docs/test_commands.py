"""Every command in the documentation is one that exists, with options that it takes, in blocks and between words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.parsing import options
from tests.docs.commands import NOT_RUN, RUN_ELSEWHERE, SMALLER, check, lines_of, script_of, why_not_run
from tests.docs.pages import PAGES, ROOT, Block, blocks, name_of, shell_blocks, spans

BLOCKS = list(shell_blocks())
LANGUAGES = {"sh", "python", "mermaid", "toml", ""}
CALL = re.compile(r"^\./cauce ([a-z].*)$")
OPTION = re.compile(r"^(--[a-z][a-z-]*)")
OTHERS = {"--require-hashes"}
"""Options of programs that are not ours."""


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_line_that_is_not_run_can_be_read(block: Block) -> None:
    for line in lines_of(block):
        if why_not_run(block, line) is not None:
            check(line)


def test_every_reason_for_not_running_is_needed() -> None:
    lines = [line for block in BLOCKS for line in lines_of(block)]
    assert [pattern for pattern in NOT_RUN if not any(re.search(pattern, line) for line in lines)] == []
    shown = {(block.page, line) for block in BLOCKS for line in lines_of(block)}
    assert set(RUN_ELSEWHERE) <= shown


def test_everything_that_is_made_smaller_is_there() -> None:
    scripts = "\n".join(script_of(block) for block in BLOCKS)
    assert [text for text in SMALLER if text not in scripts] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_are_of_kinds_that_are_known(page: Path) -> None:
    found = blocks(page)
    assert [str(block) for block in found if block.language not in LANGUAGES] == []
    hidden = [block for block in found if not block.is_shell and re.search(r"^\./(cauce|test) ", block.code, re.M)]
    assert [str(block) for block in hidden] == [], "a block with commands begins with one, or is marked sh"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_between_words_have_the_options_that_are_shown(page: Path) -> None:
    assert [span for span in spans(page) if (found := CALL.match(span)) and not is_ours(found[1])] == []


def is_ours(call: str) -> bool:
    """`submit shop.py --job x …`: the command is there, and so is each option."""
    if call.startswith("bench"):
        return True
    words = [word for word in call.replace("…", "").split() if word]
    name = next((each for each in (" ".join(words[:2]), words[0]) if each in options()), None)
    return name is not None and {word.partition("=")[0] for word in words if word.startswith("--")} <= options()[name]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_tests_between_words_exist(page: Path) -> None:
    for span in spans(page):
        if span.startswith("./test "):
            check(span)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_between_words_exist(page: Path) -> None:
    known = {option for each in options().values() for option in each} | bench_options() | OTHERS
    named = [found[1] for span in spans(page) if (found := OPTION.match(span))]
    assert [option for option in named if option not in known] == []


def bench_options() -> set[str]:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "bench").glob("*.py"))
    return set(re.findall(r'"(--[a-z-]+)"', code))


@pytest.mark.parametrize(
    "line",
    [
        "./cauce run books --data x --sugar",
        "./cauce brew",
        "./test tests/gone.py",
        "./test tests/docs/test_links.py -k sugarless",
        ".venv/bin/python -m bench.memory --sugar",
        "rm -rf .",
    ],
)
def test_what_cannot_be_read_fails(line: str) -> None:
    with pytest.raises((AssertionError, SystemExit)):
        check(line)


def test_an_option_that_is_gone_is_found() -> None:
    assert is_ours("run books --data x")
    assert is_ours("broker start --dir x")
    assert not is_ours("run books --sugar")
    assert not is_ours("brew")
