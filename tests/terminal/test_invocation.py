"""Commands in messages can be pasted, and show no secret."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from cauce.process.table import command_line
from cauce.terminal.invocation import PROGRAM, command, same_command


def test_a_command_is_shown_as_the_program_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PROGRAM, raising=False)
    assert command("stop", "--dir", "my service") == "cauce stop --dir 'my service'"
    monkeypatch.setenv(PROGRAM, "./cauce")
    assert command("stop") == "./cauce stop"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("run books --fabric amqp://me:secret@host:5672/", "cauce run books --fabric 'amqp://***@host:5672/'"),
        ("run books --fabric=amqp://me:secret@host", "cauce run books '--fabric=amqp://***@host'"),
        ("serve --fabric me:secret@host --port 1", "cauce serve --fabric '***@host' --port 1"),
        ("run amqp://me:secret@host", "cauce run 'amqp://***@host'"),
        ("watch x --token secret --json", "cauce watch x --token TOKEN --json"),
        ("watch x --token=secret", "cauce watch x --token=TOKEN"),
        ("watch x --gateway http://127.0.0.1:8080", "cauce watch x --gateway http://127.0.0.1:8080"),
    ],
)
def test_secrets_are_left_out_of_the_command_to_continue(
    given: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PROGRAM, raising=False)
    assert same_command(given.split()) == shown


def test_no_secret_of_a_command_is_in_the_process_list() -> None:
    """The command waits for a gateway that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as gateway:
        address = f"http://127.0.0.1:{gateway.getsockname()[1]}"
        arguments = ["jobs", "--token", "cauce_secret", "--gateway", address]
        with subprocess.Popen(
            [sys.executable, "-m", "cauce", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                gateway.accept()[0].close()
                shown = command_line(process.pid)
            finally:
                process.kill()
    assert "jobs --token" in shown
    assert "secret" not in shown
