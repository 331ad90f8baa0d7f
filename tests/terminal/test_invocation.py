"""Commands in messages can be pasted, and show no secret."""

from __future__ import annotations

import pytest

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
