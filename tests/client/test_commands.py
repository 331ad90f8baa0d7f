"""The commands as a user runs them, on a gateway that fails on request."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.lab.generators import generate
from cauce.runner.output_dir import OutputLock, new_file
from tests.chaos.running import until
from tests.cli.running import COLOURS, cauce
from tests.client.fake import Fake, FakeJob

ESCAPE = "\x1b"
COMMANDS = {
    "jobs": (),
    "status": ("j",),
    "watch": ("j",),
    "rejects": ("j",),
    "cancel": ("j",),
    "why": ("j",),
}


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as running:
        running.jobs["j"] = FakeJob({"dataset": "own", "queries": []}, state="done")
        yield running


@pytest.fixture(scope="module")
def coffee(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coffee")
    generate("coffee", folder, scale=0.0002, seed=1)
    return folder


@pytest.mark.parametrize("command", ["jobs", "status", "watch", "cancel", "why"])
def test_json_is_json_and_text_has_no_colours(fake: Fake, tmp_path: Path, command: str) -> None:
    machine = cauce(tmp_path, command, *COMMANDS[command], "--gateway", fake.url, "--json")
    people = cauce(tmp_path, command, *COMMANDS[command], "--gateway", fake.url)
    assert json.loads(machine.out.splitlines()[-1])
    assert ESCAPE not in people.out + people.err + machine.out + machine.err
    assert people.out.strip()
    assert machine.err == ""


@pytest.mark.parametrize(("state", "code"), [("done", 0), ("failed", 1), ("cancelled", 1), ("expired", 1)])
def test_the_exit_code_of_watch_is_the_job_s_end(fake: Fake, tmp_path: Path, state: str, code: int) -> None:
    fake.jobs["j"].state = state
    assert cauce(tmp_path, "watch", "j", "--gateway", fake.url).code == code


def test_an_unknown_job_is_a_usage_error(fake: Fake, tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "status", "none", "--gateway", fake.url)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "error [no-such-job] it is no-such-job\n"


def test_the_gateway_and_the_token_may_come_from_the_environment(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.token = "secret"
    monkeypatch.setenv("CAUCE_GATEWAY", f"http://127.0.0.1:1 {fake.url}")
    monkeypatch.setenv("CAUCE_TOKEN", "secret")
    assert cauce(tmp_path, "why", "j").out == "waits for the test\n"


def test_the_token_may_come_from_a_file(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.token = "secret"
    (tmp_path / "token").write_text("secret\n")
    monkeypatch.setenv("CAUCE_TOKEN_FILE", str(tmp_path / "token"))
    outcome = cauce(tmp_path, "why", "j", "--gateway", fake.url)
    assert (outcome.out, outcome.err) == ("waits for the test\n", "")


def test_a_token_among_the_arguments_is_advised_against(fake: Fake, tmp_path: Path) -> None:
    fake.token = "secret"
    outcome = cauce(tmp_path, "why", "j", "--gateway", fake.url, "--token", "secret")
    assert outcome.out == "waits for the test\n"
    assert "other users of this machine can see the token in --token" in outcome.err
    assert "set CAUCE_TOKEN or CAUCE_TOKEN_FILE" in outcome.err


def test_results_into_a_file_that_another_command_writes_are_refused(fake: Fake, tmp_path: Path) -> None:
    fake.jobs["j"].answers["q1"] = [[1, 2.50]]
    with OutputLock.of_file(tmp_path / "q1.csv", "cauce results i"):
        outcome = cauce(tmp_path, "results", "j", "--out", "q1.csv", "--gateway", fake.url)
    assert outcome.code == 2
    assert "another command is writing to q1.csv: cauce results i" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_results_into_a_directory_that_a_run_writes_leave_its_files_alone(fake: Fake, tmp_path: Path) -> None:
    fake.jobs["j"].answers["q1"] = [[1, 2.50]]
    with OutputLock.of_directory(tmp_path, "cauce run books"), new_file(tmp_path / "q1.csv") as into:
        outcome = cauce(tmp_path, "results", "j", "--out", "q1.csv", "--gateway", fake.url)
        into.write(b"whole")
    assert outcome.code == 2
    assert "another command is writing to .: cauce run books" in outcome.err
    assert (tmp_path / "q1.csv").read_bytes() == b"whole"


def test_results_as_they_come_in_are_json_lines(fake: Fake, tmp_path: Path) -> None:
    fake.jobs["j"].answers["q1"] = [[1, 2.50], [2, None]]
    outcome = cauce(tmp_path, "results", "j", "--follow", "--gateway", fake.url)
    assert outcome.out == '{"a":1,"b":2.5}\n{"a":2,"b":null}\n'


def test_results_of_several_queries_need_a_query_name(fake: Fake, tmp_path: Path) -> None:
    fake.jobs["j"].answers |= {"q1": [], "q2": []}
    outcome = cauce(tmp_path, "results", "j", "--gateway", fake.url)
    assert outcome.code == 2
    assert "--query: q1, q2" in outcome.err


def test_results_leave_nothing_half_written(fake: Fake, tmp_path: Path) -> None:
    fake.jobs["j"].answers["q1"] = [[1, 2]]
    fake.fail("GET .*results", "refuse", status=404, code="no-such-query")
    outcome = cauce(tmp_path, "results", "j", "--query", "q1", "--out", "a.csv", "--gateway", fake.url)
    assert outcome.code == 2
    assert list(tmp_path.iterdir()) == []
    assert cauce(tmp_path, "results", "j", "--out", "a.csv", "--gateway", fake.url).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_bytes() == b"a,b\n1,2\n"


WRONG = {
    "--format": ("--format", "xml"),
    "--compress": ("--compress", "brotli"),
    "--queries": ("--queries", "q9"),
    "--gateway": ("--gateway", "ftp://x"),
    "--job": ("--job", "a/b"),
    "--param": ("--param", "x=1"),
    "--data": ("--data", "nowhere"),
}


@pytest.mark.parametrize("option", WRONG)
def test_an_invalid_submit_sends_nothing(fake: Fake, coffee: Path, tmp_path: Path, option: str) -> None:
    given = {"--gateway": fake.url, "--data": str(coffee)}
    arguments = [word for name, value in given.items() if name != option for word in (name, value)]
    outcome = cauce(tmp_path, "submit", "coffee", *arguments, *WRONG[option])
    assert outcome.code == 2
    assert outcome.err.startswith("error [")
    assert outcome.err.count("\n") == 1
    assert fake.seen == []
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_submit_prints_how_to_resume(fake: Fake, coffee: Path, tmp_path: Path) -> None:
    """The job id, the gateway and the choices are in the command; the token is not."""
    fake.fail("PUT .*transactions/parts/1$", "refuse", times=9999, status=429, retry_after="1")
    fake.token = "secret"
    environment = {name: value for name, value in os.environ.items() if name not in COLOURS}
    arguments = ["--data", str(coffee), "--gateway", fake.url, "--queries", "q1", "--token", "secret"]
    process = subprocess.Popen(
        [sys.executable, "-m", "cauce", "submit", "coffee", *arguments],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        until("the refused part", lambda: fake.count("PUT .*transactions/parts/1$") > 0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert out == ""
    assert "waits at the service for the rest" in err
    again = re.search(r"Continue with: cauce (submit coffee .*) \(with CAUCE_TOKEN set\)", err)
    assert again is not None
    assert "secret" not in err
    (job,) = [name for name in fake.jobs if name != "j"]
    assert f"--job {job}" in again[1]
    fake.faults.clear()
    back = cauce(tmp_path, *again[1].split(), "--token", "secret", "--no-wait")
    assert back.code == 0
    assert job in back.out
    assert fake.jobs[job].tables["transactions"].complete is not None


def test_a_submit_of_a_job_that_failed_meanwhile_ends_with_1(fake: Fake, coffee: Path, tmp_path: Path) -> None:
    fake.jobs["k"] = FakeJob({"dataset": "coffee", "queries": [], "parameters": {}}, state="failed", cause="no luck")
    outcome = cauce(tmp_path, "submit", "coffee", "--data", str(coffee), "--gateway", fake.url, "--job", "k")
    assert outcome.code == 1
    assert "job k is failed: no luck" in outcome.err
    assert not (tmp_path / "answers").exists()


def test_commands_that_only_ask_do_not_load_the_engine() -> None:
    code = "import sys, cauce.cli.remote.job_commands; sys.exit('polars' in sys.modules or 'pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
