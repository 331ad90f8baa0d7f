"""The commands in blocks of shell: which are run, which are only read, and why.

A line is run unless one of `NOT_RUN` matches it. Then all of it must be readable: by our own command line, by the
programs of bench/, or as one of `OTHERS`. Whatever is neither run nor readable fails.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.cli.parsing import parse
from tests.docs.pages import ROOT, Block
from tests.mutations.__main__ import parse as parse_mutations

NOT_RUN = {
    r"^\./test\b": "it is what runs this test",
    r"^\./cauce bench\b|-m bench\.": "measures gigabytes for minutes, and installs the programs it compares with",
    r"^\./cauce demo --serve": "goes on until Ctrl-C; tests/cli/lab/test_demo_service.py runs what it does",
    r"--schedules 100000": "plays for most of an hour; tests/simulation plays some of it",
    r"\./cauce chaos run ": "takes minutes where the machine is busy; tests/chaos/test_real_kills.py does the like",
    r"\./cauce chaos service ": "goes on for minutes; tests/cli/lab/test_chaos_service.py runs it briefly",
    r"\./cauce chaos power ": "goes on for minutes; tests/cli/lab/test_chaos_power.py runs it briefly",
    r"\./cauce chaos broker ": "goes on for minutes; tests/cli/lab/test_chaos_broker.py runs it briefly",
    r"^\./cauce (top|events --follow)\b": "goes on until Ctrl-C",
    r"^docker ": "starts containers",
    r"^\./cauce mcp ": "serves until its input ends; tests/mcp talks to it",
    r"scripts/wheel\.sh|out/installed": "builds and installs the wheel; tests/test_wheel.py does it",
    r"out/audit": "asks a service on the network for vulnerabilities",
    r"10\.0\.0\.\d|/var/lib/cauce": "speaks of other machines",
}

RUN_ELSEWHERE = {("docs/tutorial.md", "./cauce demo"): "the README runs it"}
"""Lines of pages that another test already runs."""

OTHERS = ("docker", "python3", "out/audit/bin/pip-audit", "scripts/wheel.sh")
"""Programs that are not ours, in lines that are not run."""

SMALLER = {
    "./cauce demo\n": "./cauce demo --scale 0.0005\n",
}
"""Replacements that make commands faster for the tests."""

PORTS = ("8080", "8081", "8082", "7701", "7702")
"""Ports that may be in use on this machine: each is replaced by a free one."""

_BENCH = re.compile(r"\.venv/bin/python -m bench\.(\w+)(.*)")


def lines_of(block: Block) -> list[str]:
    """Its lines, with continuation lines joined."""
    return block.code.replace("\\\n", " ").splitlines()


def why_not_run(block: Block, line: str) -> str | None:
    elsewhere = RUN_ELSEWHERE.get((block.page, line))
    return elsewhere or next((why for pattern, why in NOT_RUN.items() if re.search(pattern, line)), None)


def script_of(block: Block) -> str:
    """The lines of a block that are run."""
    kept = [line for line in lines_of(block) if why_not_run(block, line) is None]
    return "\n".join(kept) + "\n" if any(kept) else ""


def check(line: str) -> None:
    """Raises an AssertionError, or exits as our command line does, if a line cannot be parsed."""
    readable = False
    for arguments in calls(line):
        readable = True
        if arguments[:1] == ["bench"]:
            _check_bench(arguments[1:])
        elif arguments:
            parse(arguments)
    for module, rest in _BENCH.findall(line):
        readable = True
        _check_program(ROOT / f"bench/{module}.py", rest)
    if line.startswith("./test"):
        readable = True
        _check_test(shlex.split(line, comments=True)[1:])
    assert readable or not line.strip() or line.split()[0] in OTHERS, f"neither run nor readable: {line}"


def calls(line: str) -> Iterator[list[str]]:
    """The arguments of each `./cauce` in a line."""
    # The value of a variable is not known here; most options accept a number.
    words = shlex.shlex(re.sub(r"\$\w+", "1", line), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    arguments: list[str] | None = None
    for word in words:
        if word in ("./cauce", "cauce", "out/installed/bin/cauce"):
            arguments = []
        elif arguments is not None and re.fullmatch(r"[();<>|&]+", word):
            yield arguments
            arguments = None
        elif arguments is not None:
            arguments.append(word)
    if arguments is not None:
        yield arguments


def _check_bench(arguments: list[str]) -> None:
    from bench.options import _parser

    _parser("").parse_args(arguments)


def _check_program(path: Path, rest: str) -> None:
    code = path.read_text(encoding="utf-8")
    for option in re.findall(r"--[a-z-]+", rest):
        assert f'"{option}"' in code, f"{path} has no {option}"


def _check_test(arguments: list[str]) -> None:
    """`quick`, `soak`, `mutations` with their names, or arguments of pytest: paths that exist, and after -k words that
    occur in the files."""
    if arguments[:1] == ["mutations"]:
        parse_mutations(arguments[1:])
        return
    paths: list[Path] = []
    following = iter(arguments)
    for each in following:
        if each == "-k":
            for word in set(next(following).split()) - {"or", "and", "not"}:
                assert any(word in path.read_text(encoding="utf-8") for path in paths), f"-k {word} selects nothing"
        elif each not in ("quick", "soak"):
            paths.append(ROOT / each)
            assert paths[-1].exists(), f"./test {each}: there is no such file"
