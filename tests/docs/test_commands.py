"""Every command in the documentation exists and accepts the options shown, in blocks and in inline code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.parsing import options
from tests.docs.commands import NOT_RUN, RUN_ELSEWHERE, SMALLER, check, lines_of, script_of, why_not_run
from tests.docs.pages import PAGES, ROOT, Block, blocks, name_of, shell_blocks, spans

BLOCKS = list(shell_blocks())
LANGUAGES = {"sh", "python", "sql", "csv", "mermaid", "toml", ""}
CALL = re.compile(r"^\./cauce ([a-z].*)$")
OPTION = re.compile(r"^(--[a-z][a-z-]*)")
OTHERS = {"--require-hashes"}
"""Options of programs that are not ours."""


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_command_lines_that_are_not_run_can_be_parsed(block: Block) -> None:
    for line in lines_of(block):
        if why_not_run(block, line) is not None:
            check(line)


def test_every_reason_for_not_running_is_used() -> None:
    lines = [line for block in BLOCKS for line in lines_of(block)]
    assert [pattern for pattern in NOT_RUN if not any(re.search(pattern, line) for line in lines)] == []
    shown = {(block.page, line) for block in BLOCKS for line in lines_of(block)}
    assert set(RUN_ELSEWHERE) <= shown


def test_every_scaled_down_text_exists() -> None:
    scripts = "\n".join(script_of(block) for block in BLOCKS)
    assert [text for text in SMALLER if text not in scripts] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_blocks_have_known_languages(page: Path) -> None:
    found = blocks(page)
    assert [str(block) for block in found if block.language not in LANGUAGES] == []
    hidden = [block for block in found if not block.is_shell and re.search(r"^\./(cauce|test) ", block.code, re.M)]
    assert [str(block) for block in hidden] == [], "a block with commands begins with one, or is marked sh"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_inline_commands_have_valid_options(page: Path) -> None:
    assert [span for span in spans(page) if (found := CALL.match(span)) and not is_ours(found[1])] == []


def is_ours(call: str) -> bool:
    """`submit shop.py --job x …`: the command and each option exist."""
    if call.startswith("bench"):
        return True
    words = [word for word in call.replace("…", "").split() if word]
    name = next((each for each in (" ".join(words[:2]), words[0]) if each in options()), None)
    return name is not None and {word.partition("=")[0] for word in words if word.startswith("--")} <= options()[name]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_inline_test_paths_exist(page: Path) -> None:
    for span in spans(page):
        if span.startswith("./test "):
            check(span)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_inline_options_exist(page: Path) -> None:
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
def test_unparsable_command_is_detected(line: str) -> None:
    with pytest.raises((AssertionError, SystemExit)):
        check(line)


def test_removed_option_is_detected() -> None:
    assert is_ours("run books --data x")
    assert is_ours("broker start --dir x")
    assert not is_ours("run books --sugar")
    assert not is_ours("brew")
