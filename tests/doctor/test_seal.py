"""Letters: what one seals, another with the same key opens, and nobody else."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cauce.doctor.desired import Wish, Wished
from cauce.doctor.messages import (
    Ack,
    Beat,
    Cause,
    Census,
    Coordinator,
    Died,
    Election,
    Epoch,
    Incarnation,
    Kill,
    Launch,
    Leader,
    Message,
    Ok,
    Seen,
    Watch,
)
from cauce.doctor.seal import Sealer
from cauce.doctor.view import Ask, Row, View

KEY = b"k" * 32
EPOCH = Epoch(3, "doctor-2")
LIFE = Incarnation(EPOCH, 7)
MESSAGES: list[Message] = [
    Election(EPOCH),
    Ok(EPOCH),
    Coordinator(EPOCH),
    Leader(EPOCH, "doctor-2", True),
    Beat("b", LIFE, 17, 18, 5, True, True, 9, "a job", 1 << 33, 2, EPOCH),
    Ack(EPOCH, LIFE, {"doctor-1": "127.0.0.1:1"}, Watch("worker-1", LIFE, "", 3, 4, "worker-2", "127.0.0.1:2")),
    Died("worker-1", LIFE, Cause(-9, "", "last\nwords"), True),
    Launch(EPOCH, "worker-1", LIFE, 3),
    Kill(EPOCH, "worker-1", LIFE, "stack", "it hangs"),
    Census("b", [Seen("worker-1", LIFE, 1, 2, "T", 3, 4.0)]),
    Wished([Wish("running", "no", 3, "x", "why", 1.5)]),
    Ask(77, 100),
    View(1, "doctor-1", "doctor-2", 3, False, True, "star", 1, 0, [Row("worker-1", "worker", "running")]),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_letter_arrives_as_it_was_written(message: Message) -> None:
    sealer = Sealer("cluster", KEY)
    letter = sealer.open(sealer.seal("doctor-2", LIFE, message))
    assert letter is not None
    assert (letter.sender, letter.incarnation, letter.body) == ("doctor-2", LIFE, message)


def test_every_kind_of_message_is_tried() -> None:
    kinds = set(Message.__subclasses__())
    assert {type(message) for message in MESSAGES} == kinds


def test_another_key_or_cluster_does_not_open_it() -> None:
    sealed = Sealer("cluster", KEY).seal("doctor-1", LIFE, Ask(1))
    assert Sealer("cluster", b"x" * 32).open(sealed) is None
    assert Sealer("other", KEY).open(sealed) is None


@given(st.integers(0, 60), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    sealer = Sealer("cluster", KEY)
    sealed = bytearray(sealer.seal("doctor-1", LIFE, Launch(EPOCH, "worker-1", LIFE)))
    sealed[place % len(sealed)] ^= change
    assert sealer.open(bytes(sealed)) is None


@given(st.binary(max_size=200))
@example(b"\x95\x00\xa2\x00\x80")
def test_garbage_is_dropped(data: bytes) -> None:
    sealer = Sealer("cluster", KEY)
    assert sealer.open(data) is None
    # Sealed by a friend, and still not a letter.
    assert sealer.open(sealer._seal_of(data) + data) is None


def test_another_version_is_dropped() -> None:
    sealer = Sealer("cluster", KEY)
    data = msgspec.msgpack.encode([99, "cluster", "doctor-1", LIFE, Ask(1)])
    assert sealer.open(sealer._seal_of(data) + data) is None
