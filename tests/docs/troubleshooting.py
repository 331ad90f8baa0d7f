"""docs/troubleshooting.md: made of the table of cases and of what their commands print.

    .venv/bin/python -m tests.docs.troubleshooting --write

runs every command and writes the page again. Run it after a message has changed.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.docs.troubleshooting_cases import CASES, GROUPS, Case
from tests.docs.troubleshooting_world import SHOWN, Outcome, World, fill, world
from tests.terminal.terminal import ROOT

PAGE = ROOT / "docs/troubleshooting.md"
AT_ONCE = 3
INTRODUCTION = """# Troubleshooting

Typical mistakes, each with its command, the exact output, and what to do. A test runs every command and compares.

An error is one line on standard error: `error [CODE] what happened, to what; what to do`. The exit code is 2 if the
request is wrong and nothing was started, 1 if the work failed, 130 after Ctrl-C. Codes are listed in
[operations.md](operations.md); those of the HTTP service in [service.md](service.md#errors).
Rows and cells that cannot be read are no errors: they are counted and listed in `rejects.csv`
([reading.md](reading.md#rejects)). `error [internal]` is a bug in Cauce: the line names a file with the details.
"""
_SECTION = re.compile(r"^### (.+?)\n.*?^```\n\$ [^\n]*\n(.*?)```$", re.MULTILINE | re.DOTALL)


def run_all(where: World) -> dict[str, Outcome]:
    """Runs every case that can run here, several at a time: one of them waits for half a minute. Returns outcomes by
    name."""
    longest_first = sorted(filter(where.can_run, CASES), key=lambda case: "FABRIC=amqp" not in case.command)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = pool.map(where.run, longest_first)
        return {case.name: outcome for case, outcome in zip(longest_first, outcomes, strict=True)}


def recorded(page: str) -> dict[str, str]:
    """The output of each case, as the page shows it."""
    return {found[1]: found[2].rstrip("\n") for found in _SECTION.finditer(page)}


def render(outputs: Mapping[str, str]) -> str:
    parts = [INTRODUCTION, _contents()]
    for group, cases in GROUPS.items():
        parts.append(f"## {group}\n")
        parts += [_section(case, outputs[case.name]) for case in cases]
    return "\n".join(parts)


def _contents() -> str:
    rows = [
        f"| [{case.name}](#{_anchor(case.name)}) | {group} | {case.code} |"
        for group in GROUPS
        for case in GROUPS[group]
    ]
    return "\n".join(["| mistake | about | exit code |", "|---|---|---|", *rows, ""])


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _section(case: Case, output: str) -> str:
    hint = f"{case.hint}\n\n" if case.hint else ""
    command = fill(case.command, SHOWN)
    return f"### {case.name}\n\n{hint}```\n$ {command}\n{output}\n```\n\n{case.advice}\n"


def problems(case: Case, outcome: Outcome) -> list[str]:
    """Problems of an outcome, independent of its exact wording."""
    found = [] if outcome.code == case.code else [f"exit code {outcome.code}, expected {case.code}"]
    found += [f"prints {each!r}" for each in ("Traceback", "[internal]") if each in outcome.output]
    lines = [line for line in outcome.output.splitlines() if line.strip()]
    if not 1 <= len(lines) <= case.lines:
        found.append(f"prints {len(lines)} lines, expected 1 to {case.lines}")
    essentials = [fill(each, SHOWN) for each in case.essentials]
    return found + [f"does not match {each!r}" for each in essentials if not re.search(each, outcome.output)]


def main(arguments: list[str]) -> int:
    if arguments != ["--write"]:
        sys.stderr.write("usage: python -m tests.docs.troubleshooting --write\n")
        return 2
    with tempfile.TemporaryDirectory() as folder, world(Path(folder) / "world") as where:
        outcomes = run_all(where)
    kept = recorded(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    outputs = {case.name: case.pending or kept.get(case.name, "") for case in CASES}
    outputs |= {name: outcome.output for name, outcome in outcomes.items()}
    PAGE.write_text(render(outputs), encoding="utf-8")
    wrong = {case.name: problems(case, outcomes[case.name]) for case in CASES if case.name in outcomes}
    for name, found in wrong.items():
        if found:
            sys.stderr.write(f"{name}: {'; '.join(found)}\n{outcomes[name].output}\n\n")
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
