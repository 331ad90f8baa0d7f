"""Every command runs in a real terminal, in turn in each kind of terminal. A new command without a line here fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.brokers import require_rabbitmq
from tests.cli.parsing import commands
from tests.cli.running import cauce as in_pipes
from tests.service.running import end_service
from tests.terminal.conftest import DONE, OPEN, Site
from tests.terminal.terminal import Terminal, cauce, run_in_terminal
from tests.terminal.terminals import KINDS, ONE_QUICK, check

CTRL_C = "\x03"
SHOP = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Place:
    """Where a command runs, and what it can use there. Services and brokers start when they are asked for."""

    folder: Path
    data: Path
    fixture: Callable[[str], Site]

    @property
    def site(self) -> Site:
        return self.fixture("site")

    @property
    def idle(self) -> Site:
        return self.fixture("idle")

    @property
    def nodes(self) -> str:
        require_rabbitmq()
        return str(self.fixture("broker").place.folder)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Run:
    """A command with its arguments. `until` it has printed this, then Ctrl-C ends it."""

    arguments: Callable[[Place], list[str]]
    prints: str
    code: int = 0
    until: str = ""


def at(where: Callable[[Place], Site], *words: str) -> Callable[[Place], list[str]]:
    """With the gateway of a service."""
    return lambda place: [*words, "--gateway", where(place).url]


def on(*words: str) -> Callable[[Place], list[str]]:
    """With the directory of the service."""
    return lambda place: [*words, "--dir", str(place.site.service)]


def site(place: Place) -> Site:
    return place.site


def idle(place: Place) -> Site:
    return place.idle


def plain(*words: str) -> Callable[[Place], list[str]]:
    return lambda place: list(words)


def with_data(*words: str) -> Callable[[Place], list[str]]:
    return lambda place: [*words, "--data", str(place.data)]


def of_doctors(place: Place) -> list[str]:
    (place.folder / "key").write_text("k" * 44)
    return ["--dir", "host", "--name", "doctor-1@a", "--doctors", "doctor-1@a=127.0.0.1:0", "--key-file", "key"]


def larger(place: Place) -> str:
    """Data on which a run takes long enough for a fault."""
    assert in_pipes(place.folder, "generate", "books", "--out", "larger", "--scale", "0.005").code == 0
    return "larger"


RUNS = {
    "run": Run(with_data("run", "books", "--queries", "q1,q3", "--out", "answers"), "books: 2 queries over"),
    "sql": Run(with_data("sql", "SELECT count(*) AS books FROM books_data"), "1 statement over"),
    "schema": Run(lambda place: ["schema", str(place.data)], "[books_data.columns]"),
    "explain": Run(plain("explain", "coffee", "--queries", "q3"), "transactions"),
    "datasets": Run(plain("datasets"), "docs/own-datasets.md"),
    "generate": Run(plain("generate", "coffee", "--out", "files", "--scale", "0.0001"), "coffee at scale 0.0001"),
    "demo": Run(plain("demo", "--scale", "0.0005"), "Nineteen queries answered"),
    "serve": Run(
        plain("serve", "--dir", "own", "--port", "0", "--workers", "1", "--gateways", "1", "--doctors", "1"),
        "Stopped the service in own.",
        until="Cauce is ready on http://127.0.0.1:",
    ),
    "gateway": Run(plain("gateway", "--dir", "own", "--port", "0"), "Cauce is ready on", until="Cauce is ready on"),
    "worker": Run(plain("worker", "--dir", "own", "--name", "worker-1"), "Stopped worker-1.", until="Ctrl-C stops it"),
    "doctor": Run(lambda place: ["doctor", *of_doctors(place)], "Stopped doctor-1@a.", until="Ctrl-C stops it"),
    "submit": Run(
        lambda place: [*at(site, "submit", "books", "--queries", "q1", "--out", "a")(place), "--data", str(place.data)],
        "books: 1 query over",
    ),
    "upload": Run(
        lambda place: [*at(site, "upload", "kept")(place), "--data", str(place.data)], "books_data",
    ),
    "drop": Run(at(site, "drop", "nothing"), "dataset nothing is not kept here", code=2),
    "jobs": Run(at(site, "jobs"), DONE),
    "status": Run(at(site, "status"), "worker-2"),
    "watch": Run(at(site, "watch", DONE), "q1"),
    "results": Run(at(site, "results", DONE), "title"),
    "rejects": Run(at(site, "rejects", DONE), "line"),
    "cancel": Run(at(idle, "cancel", OPEN), "cancelled"),
    "why": Run(at(site, "why", DONE), "done"),
    "stop": Run(on("stop", "worker-2"), "Stopping worker-2. Start again with: cauce start"),
    "start": Run(on("start", "worker-1"), "worker-1: not stopped, nothing to start."),
    "scale": Run(on("scale", "gateways=1"), "gateways=1 (was 1)"),
    "events": Run(on("events"), "elected"),
    "top": Run(on("top", "--every", "0.2"), "worker-1", until="worker-1"),
    "token create": Run(plain("token", "create", "me", "--dir", "own"), ""),
    "token list": Run(plain("token", "list", "--dir", "own", "--json"), "[]"),
    "token remove": Run(plain("token", "remove", "nobody", "--dir", "own"), "nobody", code=2),
    "deploy compose": Run(plain("deploy", "compose", "--out", "made"), "the commands to run are in made/README.md"),
    "deploy kubernetes": Run(plain("deploy", "kubernetes", "--out", "made"), "wrote made"),
    "deploy helm": Run(plain("deploy", "helm", "--out", "made"), "wrote made"),
    # Both take minutes on a busy machine; tests/chaos and tests/cli/lab let them end by themselves.
    "chaos run": Run(
        lambda place: ["chaos", "run", "books", "--data", larger(place), "--out", "c", "--kill-every", "50ms"],
        "interrupted", code=130, until="(pid ",
    ),
    "chaos service": Run(
        plain("chaos", "service", "--out", "c", "--scale", "0.0005", "--clients", "1"),
        "interrupted", code=130, until="books",
    ),
    "chaos simulate": Run(plain("chaos", "simulate", "--schedules", "2"), "2 schedules with"),
    "chaos doctors": Run(plain("chaos", "doctors", "--schedules", "2"), "2 schedules with"),
    # A round needs root and takes a minute: tests/chaos/test_power_cuts.py.
    "chaos power": Run(
        plain("chaos", "power", "--out", "cuts", "--survivors", "all"), "expected one of none, ordered", code=2,
    ),
    "chaos broker": Run(
        lambda place: ["chaos", "broker", "--broker", place.nodes, "--faults", "none", "--seconds", "1"], "none",
    ),
    "broker start": Run(lambda place: ["broker", "start", "--dir", place.nodes], "already running"),
    "broker status": Run(lambda place: ["broker", "status", "--dir", place.nodes], "amqp://"),
    "broker check": Run(lambda place: ["broker", "check", "--dir", place.nodes], "no wrong settings"),
    "broker stop": Run(plain("broker", "stop", "--dir", "none"), "no node was running in none"),
    "bench": Run(plain("bench", "--help"), "usage: cauce bench"),
    "config": Run(plain("config"), "there is no configuration file"),
    # tests/mcp talks to it.
    "mcp": Run(plain("mcp", "--dataset", "coffee"), "--dataset needs the files of the dataset", code=2),
    "completion": Run(plain("completion", "bash"), "complete -o default"),
}  # fmt: skip


@pytest.mark.quick
def test_every_command_is_run() -> None:
    assert set(RUNS) == {name for name, command in commands().items() if not hasattr(command, "commands")}


@pytest.fixture
def place(tmp_path: Path, data: Path, request: pytest.FixtureRequest) -> Place:
    return Place(tmp_path, data, request.getfixturevalue)


@pytest.mark.parametrize("name", RUNS)
def test_a_command_runs_in_a_terminal(name: str, place: Place) -> None:
    run = RUNS[name]
    kinds = list(KINDS.values())
    kind = kinds[list(RUNS).index(name) % len(kinds)]
    terminal = Terminal(cauce(*run.arguments(place)), cwd=place.folder, **kind.options)  # type: ignore[arg-type]
    try:
        if run.until:
            terminal.wait_for(run.until)
            terminal.press(CTRL_C)
        session = terminal.end()
    finally:
        terminal.kill()
        end_service(place.folder / "own")
    check(session, kind, run.code)
    assert run.prints in session.text, session.text[-3000:]


@pytest.mark.parametrize("kind", ["xterm-120", "dumb", "no-color"])
def test_a_run_draws_its_bars_and_answers(kind: str, place: Place) -> None:
    arguments = cauce("run", "books", "--data", str(place.data), "--queries", "q1", "--out", "answers")
    session = run_in_terminal(arguments, cwd=place.folder, **KINDS[kind].options)
    check(session, KINDS[kind])
    assert "books: 1 query over" in session.text
    assert (place.folder / "answers/q1.csv").is_file()


@pytest.mark.parametrize("kind", ONE_QUICK)
def test_an_error_is_one_readable_line(kind: str, place: Place) -> None:
    session = run_in_terminal(cauce("run", "boks", "--data", str(place.data)), cwd=place.folder, **KINDS[kind].options)
    check(session, KINDS[kind], code=2)
    assert "unknown dataset boks; did you mean books?" in " ".join(session.last_lines)


@pytest.mark.parametrize("width", [80, 120, 40])
def test_ids_of_jobs_are_never_truncated(width: int, place: Place) -> None:
    session = run_in_terminal(cauce("jobs", "--gateway", place.site.url), width=width)
    assert session.code == 0
    assert DONE in session.text
    assert "done" in session.text
    assert max(map(len, session.text.splitlines())) <= max(width, 40)
