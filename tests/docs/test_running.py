"""Runs the commands of each page in their order, unchanged, in a separate directory."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cauce.doctor.launch.service_dir import ServiceDir
from cauce.lab.broker.nodes import existing
from tests.brokers import require_rabbitmq
from tests.docs.commands import PORTS, SMALLER, script_of
from tests.docs.pages import PAGES, ROOT, Block, blocks, is_record, name_of
from tests.service.running import end_service
from tests.terminal.terminal import Session, Terminal

LONGEST_S = 600
PYTHON_RUNS = ("README.md", "docs/cookbook.md", "docs/tutorial.md", "docs/service.md", "docs/python.md")
"""Pages whose Python blocks are programs."""
NAMED = re.compile(r"# ((?:\w+/)*\w+\.py)\n")
LEAVES_NOTHING = ("README.md", "docs/cookbook.md", "docs/how-it-works.md", "docs/tutorial.md")
"""Pages whose commands people run in their clone: they write into directories that git ignores."""
EXERCISES = ("docs/how-it-works.md",)
SHOWS_RESULTS = ("docs/cookbook.md",)
"""Pages whose blocks without a language are lines that the commands print."""


def piece(block: Block) -> str:
    """The lines that a block adds to the script of its page. Python that begins with a file name is saved there."""
    if block.is_shell:
        return script_of(block)
    if block.language != "python" or block.page not in PYTHON_RUNS:
        return ""
    named = NAMED.match(block.code)
    into = f"cat > {named[1]}" if named else f"{sys.executable} -"
    return f"{into} <<'PYTHON'\n{block.code}PYTHON\n"


def script_of_page(page: Path) -> str:
    pieces = [f'echo "--- {block} after $SECONDS s"\n{code}' for block in blocks(page) if (code := piece(block))]
    return "\n".join(pieces)


WITH_COMMANDS = [page for page in PAGES if not is_record(page) and script_of_page(page)]


def kind(page: Path) -> object:
    """The exercises take long, and other pages have the same commands."""
    return pytest.param(page, id=name_of(page), marks=[pytest.mark.soak] if name_of(page) in EXERCISES else [])


def adapted(script: str) -> str:
    for text, smaller in SMALLER.items():
        script = script.replace(text, smaller)
    with_ports = [(port, socket.socket()) for port in PORTS if port in script]
    for port, reserved in with_ports:
        reserved.bind(("127.0.0.1", 0))
        script = re.sub(rf"\b{port}\b", str(reserved.getsockname()[1]), script)
    if re.search(r"cauce serve (?!.*--port)", script):
        # The default port, of the service and of its clients.
        with_ports.append(("", socket.socket()))
        with_ports[-1][1].bind(("127.0.0.1", 0))
        port = with_ports[-1][1].getsockname()[1]
        script = f"export CAUCE_SERVE_PORT={port} CAUCE_GATEWAY=http://127.0.0.1:{port}\n{script}"
    for _, reserved in with_ports:
        reserved.close()
    return script


def furnish(folder: Path) -> None:
    """A copy of the project files that commands use."""
    (folder / "cauce").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m cauce "$@"\n')
    (folder / "cauce").chmod(0o755)
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".gitignore", folder)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "--quiet", "--message", "clone")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def play(script: str, folder: Path) -> Session:
    """Runs a script in a terminal until its end or a timeout. No process of it survives."""
    terminal = Terminal(["bash", "-euo", "pipefail", "-c", script], cwd=folder)
    try:
        return terminal.end(LONGEST_S)
    finally:
        terminal.kill()
        clear(folder)


def clear(folder: Path) -> None:
    """Stops services and brokers that a failed page has left running."""
    for file in folder.rglob("cluster.json"):
        if ServiceDir(file.parent).running_processes():
            end_service(file.parent)
    for file in folder.rglob("broker.json"):
        nodes = existing(file.parent)
        if nodes is not None:
            nodes.stop(gently=False)


def results_of(page: Path) -> list[str]:
    found = [block for block in blocks(page) if not block.language]
    assert found
    return [line for block in found for line in block.code.splitlines()]


def printed(session: Session) -> set[str]:
    """The lines of a terminal. The frame around the head of a table is drawn with heavy lines."""
    return {line.replace("┃", "│").rstrip() for line in session.text.splitlines()}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("page", [kind(page) for page in WITH_COMMANDS])
def test_commands_of_a_page_run(page: Path, tmp_path: Path) -> None:
    script = adapted(script_of_page(page))
    if "broker start" in script:
        require_rabbitmq()
    furnish(tmp_path)
    session = play(script, tmp_path)
    assert session.code == 0, session.text[-6000:]
    assert "Traceback" not in session.text
    assert session.cursor_shown
    assert session.on_main_screen
    if name_of(page) in SHOWS_RESULTS:
        assert [line for line in results_of(page) if line not in printed(session)] == []
    if name_of(page) in LEAVES_NOTHING:
        assert git(tmp_path, "status", "--short") == ""


def test_all_pages_with_commands_are_run() -> None:
    assert {"README.md", "docs/tutorial.md", "docs/service.md"} <= {name_of(page) for page in WITH_COMMANDS}
