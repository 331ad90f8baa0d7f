"""The commands of each page are run in their order, as they stand there, in a folder of their own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from cauce.broker.nodes import existing
from cauce.doctor.home import Home
from tests.brokers import require_rabbitmq
from tests.cli.running import COLOURS
from tests.docs.commands import PORTS, SMALLER, script_of
from tests.docs.pages import PAGES, ROOT, Block, blocks, is_record, name_of
from tests.service.running import end_service

LONGEST_S = 600
PYTHON_RUNS = ("README.md", "docs/tutorial.md", "docs/service.md", "docs/python.md")
"""Pages whose pieces of Python are programs."""
NAMED = re.compile(r"# (\w+\.py)\n")


def piece(block: Block) -> str:
    """What a block adds to the script of its page. Python that begins with the name of a file is saved there."""
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


def adapted(script: str) -> str:
    for text, smaller in SMALLER.items():
        script = script.replace(text, smaller)
    with_ports = [(port, socket.socket()) for port in PORTS if port in script]
    for port, reserved in with_ports:
        reserved.bind(("127.0.0.1", 0))
        script = re.sub(rf"\b{port}\b", str(reserved.getsockname()[1]), script)
    for _, reserved in with_ports:
        reserved.close()
    return script


def furnish(folder: Path) -> None:
    """What a clone of the project has, as far as commands use it."""
    (folder / "cauce").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m cauce "$@"\n')
    (folder / "cauce").chmod(0o755)
    shutil.copytree(ROOT / "examples", folder / "examples")


def play(script: str, folder: Path, said: Path) -> int:
    """Runs a script to its end, or as long as it may take; nothing of it goes on after that."""
    environment = {name: value for name, value in os.environ.items() if name not in COLOURS and "CAUCE" not in name}
    with said.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return process.wait(LONGEST_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        clear(folder)


def clear(folder: Path) -> None:
    """Ends services and brokers that a page which failed has left: they outlive who started them."""
    for file in folder.rglob("cluster.json"):
        if Home(file.parent).survivors():
            end_service(file.parent)
    for file in folder.rglob("broker.json"):
        nodes = existing(file.parent)
        if nodes is not None:
            nodes.stop(gently=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_the_commands_of_a_page_run_as_they_stand(page: Path, tmp_path: Path) -> None:
    script = adapted(script_of_page(page))
    if "broker start" in script:
        require_rabbitmq()
    furnish(tmp_path)
    said = tmp_path / "said"
    code = play(script, tmp_path, said)
    assert code == 0, said.read_text(encoding="utf-8", errors="replace")[-6000:]


def test_all_pages_that_show_commands_are_run() -> None:
    assert {"README.md", "docs/tutorial.md", "docs/service.md"} <= {name_of(page) for page in WITH_COMMANDS}
