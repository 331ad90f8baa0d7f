"""The directory in which the commands of docs/troubleshooting.md run, a service, and a terminal to run them in."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.client.real import Real
from tests.docs.troubleshooting_cases import BUSY, PERMISSIONS, SMALL_DISK, Case
from tests.service.running import end_service
from tests.terminal.terminal import ROOT, Terminal

LONGEST_S = 240
SHOWN = {"gateway": "http://127.0.0.1:8080", "port": "8080", "dead_port": "9999"}
"""Replacements of values that differ between runs."""
HOME = "/home/me"
JOB_NAME = re.compile(r"\brun-[0-9a-f]{16}\b")
BAR = "━━"
DAC = "-dac_override,-dac_read_search"
"""Capabilities by which root reads and writes everything."""

SLOW = "import time\n\nprint('loading the dataset', flush=True)\ntime.sleep(60)\n"
NAMELESS = "from cauce.plan import *\n\nshop = 1\n"
QUERY = '''from cauce.plan import *

ratings = Table("ratings", "ratings.csv", {"stars": Decimal()})
dataset = Dataset("unserved", (ratings,))


@dataset.query(n=INTEGER)
def rated() -> Relation:
    """How many"""
    return ratings.agg(n=agg.count("star"))
'''


@dataclass(frozen=True)
class Outcome:
    code: int
    output: str


class World:
    def __init__(self, folder: Path, service: Real, token: str) -> None:
        self.folder = folder
        port = service.url.rpartition(":")[2]
        self.values = {"gateway": f"http://127.0.0.1:{port}", "port": port, "dead_port": str(_closed_port())}
        self._token = token
        self._mounted = [each for each in (folder / "small", folder / "tiny") if _mount(each)]

    def can_run(self, case: Case) -> bool:
        """Whether a small disk can be mounted here."""
        return not case.pending and (case.needs != SMALL_DISK or len(self._mounted) == 2)

    def run(self, case: Case) -> Outcome:
        with ExitStack() as around:
            if case.needs == BUSY:
                around.enter_context(self._busy(case))
            if case.setup:
                done = self._start(case.setup, case).end(LONGEST_S)
                assert done.code == 0, done.text
            terminal = self._start(case.command, case)
            if case.interrupt_at:
                terminal.wait_for(case.interrupt_at)
                terminal.press("\x03")
            try:
                session = terminal.end(LONGEST_S)
            except AssertionError as problem:
                return Outcome(-1, str(problem))
        return Outcome(session.code, self._normalised(session.text, case))

    def _start(self, command: str, case: Case) -> Terminal:
        arguments = ["/bin/bash", "-c", fill(command, self.values)]
        if case.needs == PERMISSIONS and os.geteuid() == 0:
            arguments = [shutil.which("setpriv") or "setpriv", f"--bounding-set={DAC}", *arguments]
        environment = {"CAUCE_TOKEN": self._token, "CAUCE_GATEWAY": "", **case.environment}
        return Terminal(arguments, width=100, cwd=self._directory(case), environment=environment)

    def _directory(self, case: Case) -> Path:
        """A private copy of the directory for one case."""
        own = self.folder.with_name("cases") / case.name.replace(" ", "-")
        if not own.exists():
            own.mkdir(parents=True)
            for each in self.folder.iterdir():
                (own / each.name).symlink_to(each)
        return own

    @contextmanager
    def _busy(self, case: Case) -> Iterator[None]:
        other = self._start("./cauce run slow.py --data examples/my_shop --out busy --workers 2", case)
        try:
            other.wait_for("loading the dataset")
            yield
        finally:
            other.kill()

    def _normalised(self, text: str, case: Case) -> str:
        for folder in (self.folder, self._directory(case)):
            text = text.replace(str(folder.resolve()), HOME).replace(str(folder), HOME)
        for name in ("gateway", "port", "dead_port"):
            text = text.replace(self.values[name], SHOWN[name])
        text = JOB_NAME.sub("run-0123456789abcdef", text)
        # The number of progress bars drawn varies.
        return "\n".join(line.rstrip() for line in text.splitlines() if BAR not in line).strip("\n")

    def close(self) -> None:
        if (self.folder / "tiny/service").exists():
            # Stops a service that was started there unexpectedly.
            end_service(self.folder / "tiny/service")
        for each in self._mounted:
            subprocess.run(["umount", "--lazy", str(each)], check=True)


def fill(text: str, values: dict[str, str]) -> str:
    """Not `str.format`: a command may hold braces of its own."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


@contextmanager
def world(folder: Path) -> Iterator[World]:
    furnish(folder)
    token = _token(folder)
    options = ["--workers", "1", "--gateways", "1", "--doctors", "1", "--dataset", str(folder / "examples/my_shop.py")]
    with Real(folder, "--require-token", *options) as service:
        made = World(folder, service, token)
        try:
            yield made
        finally:
            made.close()


def furnish(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = f'#!/bin/sh\nexport CAUCE_PROGRAM="$0"\nexec {sys.executable} -P -m cauce "$@"\n'
    (folder / "cauce").write_text(program)
    (folder / "cauce").chmod(0o755)
    shutil.copytree(ROOT / "examples", folder / "examples")
    _furnish_data(folder)
    _furnish_datasets(folder)
    (folder / "notes.txt").write_text("precious\n")
    (folder / "sealed").mkdir(mode=0o555)
    (folder / "data").mkdir()


def _furnish_data(folder: Path) -> None:
    ratings = (ROOT / "examples/my_shop/ratings.csv").read_text()
    contents = {
        "misspelt": ratings.replace("stars", "star", 1).encode(),
        "headless": ratings.partition("\n")[2].encode(),
        "hollow": b"",
        # The first bytes of a spreadsheet.
        "binary": b"PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00\xe2\xff\x9f\n" * 8,
        "damaged": b"this was cut off",
        "twice": ratings.encode(),
        "closed": ratings.encode(),
    }
    for name, content in contents.items():
        shutil.copytree(ROOT / "examples/my_shop", folder / name)
        (folder / name / "ratings.csv").write_bytes(content)
    (folder / "damaged/ratings.csv").rename(folder / "damaged/ratings.csv.gz")
    shutil.copy(folder / "twice/ratings.csv", folder / "twice/ratings.csv.gz")
    (folder / "closed/ratings.csv").chmod(0)


def _furnish_datasets(folder: Path) -> None:
    shop = (ROOT / "examples/my_shop.py").read_text()
    datasets = {
        "slow.py": SLOW + shop,
        "nameless.py": NAMELESS,
        "unclosed.py": 'from cauce.plan import *\n\nratings = Table("ratings", "ratings.csv", {"stars": Decimal()})\n'
        'dataset = Dataset("shop", (ratings,)\n',
        "column.py": QUERY,
        "unserved.py": QUERY.replace('agg.count("star")', "agg.count()"),
        "selfish.py": f'{shop}\n\nimport cauce\n\ncauce.run(dataset, "examples/my_shop")\n',
    }
    for name, text in datasets.items():
        (folder / name).write_text(text)


def _token(folder: Path) -> str:
    command = ["./cauce", "token", "create", "maria", "--dir", "service"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def _closed_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _mount(folder: Path) -> bool:
    """Whether `folder` is a disk of its own now, and full."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        return False
    with suppress(OSError), (folder / "full").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return True
