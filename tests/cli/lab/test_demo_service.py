"""`cauce demo --serve`: clients get the right answers while processes are killed, until it is stopped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cauce.doctor.control import read_desired_state, update_desired_state
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.desired_state import STOPPED, hold_key
from cauce.doctor.model.names import role_of
from tests.terminal.terminal import Session, Terminal, cauce

SETUP_S = 300.0
END_S = 240.0
LAST_ANSWERS_S = 60.0
CTRL_C = "\x03"
TIMED = re.compile(r"^ *(\d+\.\d) s  (.*)$", re.MULTILINE)


@contextmanager
def demo(out: Path, *options: str) -> Iterator[Terminal]:
    """The demo in a terminal, once it serves."""
    small = ["--port", "0", "--scale", "0.001"]
    terminal = Terminal(cauce("demo", "--serve", "--out", str(out), *small, *options), width=120)
    try:
        terminal.wait_for("in a browser", SETUP_S)
        yield terminal
    finally:
        terminal.kill_if_alive()


def happened(session: Session, what: str) -> list[float]:
    """Returns the times at which lines with this text were written."""
    return [float(at) for at, text in TIMED.findall(session.text) if what in text]


def check_good_end(session: Session, seconds: float, kill_every_s: float) -> None:
    assert session.code == 0, session.text[-4000:]
    assert "Traceback" not in session.text
    kills, answers = happened(session, "killed "), happened(session, "answered in")
    assert len(kills) >= seconds / kill_every_s / 2, "the kills did not happen"
    assert {role for role in ("worker", "gateway", "doctor") if happened(session, f"killed {role}-")} == {
        "worker",
        "gateway",
        "doctor",
    }
    for name in ("maria", "juan", "sofia", "diego"):
        assert max(happened(session, f"{name}: ")) > seconds - LAST_ANSWERS_S, f"{name} was stalled"
    assert len(answers) > seconds / 20
    assert re.search(r"\d+ answers under \d+ kills?: all correct\.", session.text)
    assert "Every process was running at the end." in " ".join(session.text.split())


def serve_for(tmp_path: Path, seconds: float) -> None:
    with demo(tmp_path / "demo") as terminal:
        terminal.read_for(seconds)
        terminal.press(CTRL_C)
        session = terminal.end(END_S)
    check_good_end(session, seconds, 5.0)


@pytest.mark.slow
def test_the_demo_answers_correctly_under_kills_for_three_minutes(tmp_path: Path) -> None:
    serve_for(tmp_path, 180.0)


@pytest.mark.soak
def test_the_demo_answers_correctly_under_kills_for_ten_minutes(tmp_path: Path) -> None:
    serve_for(tmp_path, 600.0)


@pytest.mark.slow
def test_a_demo_that_is_stalled_reports_failure(tmp_path: Path) -> None:
    """No worker is running, so that no client gets an answer. The stall limit is shorter than the default."""
    out = tmp_path / "demo"
    program = (
        "import sys; from pathlib import Path\n"
        "from cauce.cli.lab.demo import answer_all; from cauce.cli.lab.demo_service import serve_demo\n"
        f"out = Path({str(out)!r}); answer_all(out, 0.001, 7)\n"
        "sys.exit(0 if serve_demo(out, 0, 0.0, 7, stall_s=5.0) else 1)\n"
    )
    terminal = Terminal([cauce()[0], "-P", "-c", program], width=120)
    try:
        terminal.wait_for("byte for byte", SETUP_S)
        home = ServiceDir(out / "service")
        workers = [name for name in read_desired_state(home).names if role_of(name) == "worker"]
        update_desired_state(home, {hold_key(name): STOPPED for name in workers}, "stopped by an operator")
        terminal.wait_for("has had no answer for", SETUP_S)
        terminal.press(CTRL_C)
        session = terminal.end(END_S)
    finally:
        terminal.kill_if_alive()
    assert session.code == 1
    assert re.search(r"\w+ was stalled at the end: no answer for \d+ s", session.text)
    assert re.search(r"at the end worker-1 is (stopped|ending): \w+", session.text)
    assert "all correct" not in session.text
