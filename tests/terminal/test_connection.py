"""Messages when the service cannot be reached, when it is back, and after Ctrl-C in each phase."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.lab.generators import generate
from tests.chaos.running import until
from tests.client.fake import Fake, FakeJob
from tests.client.test_transport import HTML, closed_address, speaking
from tests.terminal.terminal import Session, Terminal, cauce, run_in_terminal

pytestmark = pytest.mark.slow

CTRL_C = "\x03"
QUESTIONS = {
    "jobs": ("jobs",),
    "status": ("status", "j"),
    "processes": ("status",),
    "why": ("why", "j"),
    "cancel": ("cancel", "j"),
    "rejects": ("rejects", "j"),
    "results": ("results", "j"),
    "events": ("events",),
}
ENOUGH_S = 60.0
"""Far more than a question needs, and far less than the two minutes for which work is retried."""


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as running:
        yield running


@pytest.fixture(scope="module")
def coffee(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coffee")
    generate("coffee", folder, scale=0.0001, seed=1)
    return folder


def submit(coffee: Path, gateway: str, folder: Path, *more: str) -> Terminal:
    given = ("--data", str(coffee), "--gateway", gateway, "--queries", "q1", "--job", "j", *more)
    return Terminal(cauce("submit", "coffee", *given), width=400, cwd=folder)


def check(session: Session, code: int) -> str:
    assert session.code == code, session.text
    assert "Traceback" not in session.text
    assert session.cursor_shown
    return session.last_lines[-1]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_query_to_an_unreachable_service_fails_with_one_line(question: str) -> None:
    address = closed_address()
    arguments = cauce(*QUESTIONS[question], "--gateway", address)
    session = run_in_terminal(arguments, width=400, timeout_s=ENOUGH_S)
    line = check(session, 1)
    assert session.text.strip() == line
    assert line.startswith(f"error [unreachable] cannot reach {address}: connection refused; start the service with")
    assert "./cauce serve" in line
    assert "--gateway" in line


@pytest.mark.parametrize("command", [("watch", "j"), ("top",), ("events", "--follow")], ids=lambda words: words[0])
def test_a_command_that_waits_reports_an_unreachable_service_and_retries(command: tuple[str, ...]) -> None:
    address = closed_address()
    terminal = Terminal(cauce(*command, "--gateway", address), width=400)
    # It is still retrying when this line is there: nothing but Ctrl-C ends it within two minutes.
    terminal.wait_for(f"cannot reach {address}: connection refused; retrying for up to 120 s, Ctrl-C stops", ENOUGH_S)
    terminal.press(CTRL_C)
    session = terminal.end()
    assert "continues at the service" not in session.text
    assert "Traceback" not in session.text
    assert session.on_main_screen
    if command[0] == "watch":
        assert check(session, 130).startswith("note stopped before a gateway answered")


def test_a_submit_that_reached_no_gateway_has_sent_nothing(coffee: Path, tmp_path: Path) -> None:
    address = closed_address()
    terminal = submit(coffee, address, tmp_path)
    terminal.wait_for(f"cannot reach {address}: connection refused; retrying for up to 120 s, Ctrl-C stops", ENOUGH_S)
    terminal.press(CTRL_C)
    session = terminal.end()
    line = check(session, 130)
    assert line.startswith("note stopped before a gateway answered: no data was sent. Retry with: cauce submit coffee")
    assert "--job j" in line
    assert "goes on" not in session.text


def test_a_connection_that_is_back_is_reported(fake: Fake, coffee: Path, tmp_path: Path) -> None:
    fake.fail("PUT .*/parts/0", "drop", times=8)
    session = submit(coffee, fake.url, tmp_path, "--no-wait").end()
    check(session, 0)
    assert f"cannot reach {fake.url}: the connection was closed without an answer; retrying" in session.text
    assert f"connected to {fake.url} again after" in session.text
    assert fake.jobs["j"].tables["transactions"].complete is not None


def test_a_submit_stopped_half_way_prints_the_command_to_continue(fake: Fake, coffee: Path, tmp_path: Path) -> None:
    fake.fail("PUT .*transactions/parts/1$", "refuse", times=9999, status=429, retry_after="1")
    terminal = submit(coffee, fake.url, tmp_path)
    until("the refused part", lambda: fake.count("PUT .*transactions/parts/1$") > 0)
    terminal.press(CTRL_C)
    line = check(terminal.end(), 130)
    assert line.startswith("note stopped; ")
    assert " are sent, and job j waits at the service for the rest. Continue with: cauce submit coffee" in line


def test_a_submit_that_has_sent_all_leaves_the_job_at_the_service(fake: Fake, coffee: Path, tmp_path: Path) -> None:
    terminal = submit(coffee, fake.url, tmp_path)
    until("the job is watched", lambda: fake.count("GET .*/events") > 0)
    terminal.press(CTRL_C)
    line = check(terminal.end(), 130)
    assert line.startswith(
        "note detached; all files are sent, and job j continues at the service. Fetch an answer with: "
    )
    assert f"cauce results j --gateway {fake.url}" in line


def test_a_submit_with_other_files_under_a_used_id_fails(fake: Fake, coffee: Path, tmp_path: Path) -> None:
    assert submit(coffee, fake.url, tmp_path, "--no-wait").end().code == 0
    fake.jobs["j"].state = "done"
    fake.jobs["j"].answers["q1"] = [[1, 2]]
    generate("coffee", tmp_path / "other", scale=0.0001, seed=2)
    line = check(submit(tmp_path / "other", fake.url, tmp_path).end(), 1)
    assert line.startswith(
        "error [input-differs] job j was sent with other data: table transactions, file transactions"
    )
    assert not (tmp_path / "answers").exists()


def test_another_server_on_the_port_is_reported() -> None:
    with speaking(HTML % b"200 OK") as address:
        session = run_in_terminal(cauce("jobs", "--gateway", address), width=400)
    line = check(session, 1)
    assert session.text.strip() == line
    assert line.endswith("a server other than Cauce listens there: check the address (--gateway, CAUCE_GATEWAY)")


def test_a_wrong_token_is_reported(fake: Fake) -> None:
    fake.token = "secret"
    fake.jobs["j"] = FakeJob({"dataset": "own", "queries": []})
    session = run_in_terminal(cauce("why", "j", "--gateway", fake.url, "--token", "other"), width=400)
    assert check(session, 2) == "error [no-token] it is no-token"
