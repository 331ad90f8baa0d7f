"""Addresses in texts are shown without user and password; other texts stay as they are."""

from __future__ import annotations

import pytest

from cauce.process.masking import masked_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot reach amqp://u:s3@cret@host:1/v, retrying", "cannot reach amqp://***@host:1/v, retrying"),
        ("AMQPS://u:secret@host", "AMQPS://***@host"),
        ("No such file: 'amqp:/u:secret@host'", "No such file: 'amqp:/***@host'"),
        ("http://u:secret@host:8080/v1", "http://***@host:8080/v1"),
        ("cannot reach amqp://u:my secret@host:1/v, retrying", "cannot reach amqp://***@host:1/v, retrying"),
        ("amqp://u:a b@c d@host", "amqp://***@host"),
        ("amqp://u:12 34@host", "amqp://***@host"),
        ("amqp://u:a b@one or amqp://u:c d@two", "amqp://***@one or amqp://***@two"),
        ("http://u:my secret@host:8080/v1", "http://***@host:8080/v1"),
        ("amqp://u:secret@host\nof worker-1@b", "amqp://***@host\nof worker-1@b"),
        ("files:/srv/x: lost by worker-1@b", "files:/srv/x: lost by worker-1@b"),
        ("write it as amqp://user:password@host", "write it as amqp://user:password@host"),
        ("worker-1@b and doctor-2@a", "worker-1@b and doctor-2@a"),
        ("http://127.0.0.1:8080/ of me@company", "http://127.0.0.1:8080/ of me@company"),
    ],
)
def test_addresses_in_texts_are_masked(text: str, shown: str) -> None:
    assert masked_text(text) == shown
