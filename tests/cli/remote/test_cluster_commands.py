"""The commands on a cluster: what they print, what they refuse, and a service in the background."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from cauce.cli.remote.process_commands import processes
from cauce.doctor.json_bodies import ClusterBody
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.status import ProcessStatus
from tests.cli.running import Outcome, cauce
from tests.service.running import end_service, until

READY = r"Cauce is ready on http://127\.0\.0\.1:\d+ \(directory service\)\. Stop it with: cauce stop --dir service\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A service that was started and left alone."""
    made = tmp_path_factory.mktemp("detached")
    counts = ["--workers", "1", "--gateways", "1", "--doctors", "2"]
    guarded = ["--end-with", str(os.getpid())]
    outcome = cauce(made, "serve", "--dir", "service", "--port", "0", "--detach", *counts, *guarded)
    assert outcome.code == 0, outcome.err
    assert re.fullmatch(READY, outcome.out)
    assert outcome.err == ""
    yield made
    end_service(made / "service")


def run(folder: Path, *arguments: str) -> Outcome:
    return cauce(folder, *arguments, "--dir", "service")


def states(folder: Path) -> dict[str, str]:
    outcome = run(folder, "status", "--json")
    assert outcome.code == 0, outcome.err
    return {row["name"]: row["state"] for row in json.loads(outcome.out)["processes"]}


def test_status_shows_every_process_with_its_leader(folder: Path) -> None:
    shown = run(folder, "status")
    assert shown.code == 0
    assert "4 processes, leader doctor-" in shown.out
    assert "★" in shown.out
    for name in ("doctor-1", "doctor-2", "gateway-1", "worker-1"):
        assert name in shown.out


@pytest.mark.parametrize(
    ("width", "left_out"), [(80, set()), (64, {"pid"}), (52, {"pid", "restarts"}), (40, {"pid", "restarts", "memory"})]
)
def test_a_narrow_terminal_shows_names_and_states_in_full(width: int, left_out: set[str]) -> None:
    worker = ProcessStatus("worker-12", "worker", "restarting", pid=12345, rss=10**8, work="scan orders, lane 3")
    screen = Console(width=width, record=True, file=io.StringIO())
    screen.print(processes(ClusterBody("doctor-1", "doctor-1", 1, True, "star", [worker]), width))
    text = screen.export_text()
    assert "worker-12" in text
    assert "restarting" in text
    assert {name for name in ("pid", "restarts", "memory", "works on") if name not in text} == left_out


def test_scale_stop_and_start_change_the_running_processes(folder: Path) -> None:
    assert run(folder, "scale", "workers=2").out == "Scaled the service in service to workers=2 (was 1)\n"
    until("a second worker", lambda: states(folder).get("worker-2") == "running")
    again = "Stopping worker-2. Start again with: cauce start --dir service worker-2\n"
    assert run(folder, "stop", "worker-2").out == again
    until("its stop", lambda: states(folder)["worker-2"] == "stopped")
    assert run(folder, "start", "worker-2").out == "Starting worker-2.\n"
    until("its start", lambda: states(folder)["worker-2"] == "running")
    assert run(folder, "scale", "workers=1").code == 0
    until("its end", lambda: "worker-2" not in states(folder))


def test_events_are_printed_as_text_and_as_json(folder: Path) -> None:
    until("the timeline", lambda: "worker-1" in run(folder, "events").out)
    printed = run(folder, "events")
    assert "elected: epoch 1" in printed.out
    lines = [json.loads(line) for line in run(folder, "events", "--json", "--last", "2").out.splitlines()]
    assert len(lines) == 2
    assert {"at", "what", "name", "epoch"} <= set(lines[0])


def on_terminal(folder: Path, *arguments: str) -> tuple[str, int]:
    """The output of a command on a terminal until Ctrl-C, and its exit code."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cauce", *arguments, "--dir", "service"]
    environment = {**os.environ, "COLUMNS": "120", "LINES": "40", "TERM": "xterm"}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    output = b""
    while b"worker-1" not in output:
        output += os.read(ours, 65536)
    process.send_signal(signal.SIGINT)
    code = process.wait(60)
    os.close(ours)
    return output.decode(errors="replace"), code


def test_top_shows_processes_and_events_until_ctrl_c(folder: Path) -> None:
    output, code = on_terminal(folder, "top", "--every", "0.2")
    assert "doctor-1" in output
    assert "running" in output
    assert code == 0


def test_events_are_followed_until_ctrl_c(folder: Path) -> None:
    output, code = on_terminal(folder, "events", "--follow")
    assert "elected" in output
    assert code == 0


def test_a_second_service_in_the_folder_is_refused(folder: Path) -> None:
    outcome = cauce(folder, "serve", "--dir", "service", "--port", "0")
    assert outcome.code == 2
    assert "cauce stop" in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["scale", "workers"],
        ["scale", "kings=1"],
        ["scale", "workers=-1"],
        ["scale", "doctors=0"],
        ["scale", "workers@Über=1"],
        ["stop", "worker-9"],
        ["stop", "king-1"],
        ["start", "worker-9"],
    ],
)
def test_invalid_arguments_are_usage_errors(folder: Path, arguments: list[str]) -> None:
    outcome = run(folder, *arguments)
    assert outcome.code == 2, outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("command", [["status"], ["stop"], ["events"], ["top"], ["scale", "workers=1"]])
def test_a_directory_without_a_service_is_reported(tmp_path: Path, command: list[str]) -> None:
    outcome = cauce(tmp_path, *command, "--dir", "nowhere")
    assert outcome.code == 2
    assert "no service was started" in outcome.err


@pytest.mark.parametrize(
    "options",
    [
        ["--timing", "hung"],
        ["--timing", "king=1"],
        ["--watch", "square"],
        ["--cluster", "missing.toml"],
    ],
)
def test_invalid_options_of_serve_are_usage_errors(tmp_path: Path, options: list[str]) -> None:
    outcome = cauce(tmp_path, "serve", "--dir", "x", "--port", "0", *options)
    assert outcome.code == 2, outcome.err
    assert "Traceback" not in outcome.err
    assert ServiceDir(tmp_path / "x").running_processes() == []


def test_a_file_sets_the_process_counts_and_options_override_it(tmp_path: Path) -> None:
    from cauce.service.startup import ServiceSize, with_file

    file = tmp_path / "cluster.toml"
    file.write_text('workers = 3\ngateways = 1\nwatch = "ring"\n[timing]\nhung = 9.5\n')
    wanted = with_file(ServiceSize(workers=5, timing=["hung=7"]), file)
    assert (wanted.workers, wanted.gateways, wanted.doctors, wanted.watch) == (5, 1, None, "ring")
    assert wanted.timing == ["hung=9.5", "hung=7"]


def test_stop_ends_all_processes_and_is_idempotent(folder: Path) -> None:
    assert run(folder, "stop").out == "Stopped the service in service: 4 processes.\n"
    assert ServiceDir(folder / "service").running_processes() == []
    stopped = run(folder, "stop")
    assert (stopped.code, stopped.out) == (0, "No process runs in service.\n")
    for words in (["start", "worker-1"], ["stop", "worker-1"]):
        refused = run(folder, *words)
        assert refused.code == 1
        assert re.search(r"the service in \S+/service is not running; start it with: cauce serve --dir ", refused.err)
    later = run(folder, "scale", "workers=1")
    assert "when it is started: cauce serve --dir" in later.out
    printed = run(folder, "status")
    assert printed.code == 1
    assert "no doctor of the service in service answers" in printed.err
