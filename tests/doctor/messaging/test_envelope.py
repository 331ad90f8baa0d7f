"""Envelopes: only a process with the same key can decode a message."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cauce.doctor.messaging.envelope import Authenticator
from cauce.doctor.messaging.freshness import Stamp
from cauce.doctor.model.desired_state import DesiredEntry, DesiredUpdate
from cauce.doctor.model.messages import (
    Ack,
    Cause,
    Coordinator,
    Election,
    Epoch,
    ExitReport,
    Generation,
    Heartbeat,
    Hello,
    Kill,
    Launch,
    Leader,
    Message,
    ObservedProcess,
    Ok,
    ProcessList,
    RingAssignment,
)
from cauce.doctor.model.status import ClusterStatus, ProcessStatus, StatusQuery
from cauce.worker.events import Assignment

STAMP = Stamp(5, 6, 7)
KEY = b"k" * 32
EPOCH = Epoch(3, "doctor-2")
GENERATION = Generation(EPOCH, 7)
MESSAGES: list[Message] = [
    Hello(5),
    Election(EPOCH),
    Ok(EPOCH),
    Coordinator(EPOCH),
    Leader(EPOCH, "doctor-2", True),
    Heartbeat("b", GENERATION, 17, 18, 5, True, True, 9, Assignment("maria", "maria.b", "scan"), 1 << 33, 2, EPOCH),
    Ack(
        EPOCH,
        GENERATION,
        {"doctor-1": "127.0.0.1:1"},
        RingAssignment("worker-1", GENERATION, "", 3, 4, "worker-2", "127.0.0.1:2"),
    ),
    ExitReport("worker-1", GENERATION, Cause(-9, "", "last\nwords"), True),
    Launch(EPOCH, "worker-1", GENERATION, 3),
    Kill(EPOCH, "worker-1", GENERATION, "stack", "it hangs"),
    ProcessList("b", [ObservedProcess("worker-1", GENERATION, 1, 2, "T", 3, 4.0)]),
    DesiredUpdate([DesiredEntry("running", "no", 3, "x", "why", 1.5)]),
    StatusQuery(77, 100),
    ClusterStatus(
        1, "doctor-1", "doctor-2", 3, False, True, "star", 1, 0, [ProcessStatus("worker-1", "worker", "running")]
    ),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_decoded_as_it_was_encoded(message: Message) -> None:
    authenticator = Authenticator("cluster", KEY)
    envelope = authenticator.decode(authenticator.encode("doctor-2", GENERATION, STAMP, message))
    assert envelope is not None
    assert (envelope.sender, envelope.generation, envelope.body) == ("doctor-2", GENERATION, message)


def test_every_message_type_is_tested() -> None:
    kinds = set(Message.__subclasses__())
    assert {type(message) for message in MESSAGES} == kinds


def test_a_message_of_another_key_or_cluster_is_dropped() -> None:
    datagram = Authenticator("cluster", KEY).encode("doctor-1", GENERATION, STAMP, StatusQuery(1))
    assert Authenticator("cluster", b"x" * 32).decode(datagram) is None
    assert Authenticator("other", KEY).decode(datagram) is None


@given(st.integers(0, 60), st.integers(1, 255))
def test_a_changed_byte_is_detected(place: int, change: int) -> None:
    authenticator = Authenticator("cluster", KEY)
    datagram = bytearray(authenticator.encode("doctor-1", GENERATION, STAMP, Launch(EPOCH, "worker-1", GENERATION)))
    datagram[place % len(datagram)] ^= change
    assert authenticator.decode(bytes(datagram)) is None


@given(st.binary(max_size=200))
@example(b"\x95\x00\xa2\x00\x80")
def test_garbage_is_dropped(data: bytes) -> None:
    authenticator = Authenticator("cluster", KEY)
    assert authenticator.decode(data) is None
    # Authenticated with the right key, but malformed.
    assert authenticator.decode(authenticator._mac_of(data) + data) is None


def test_another_version_is_dropped() -> None:
    authenticator = Authenticator("cluster", KEY)
    data = msgspec.msgpack.encode([99, "cluster", "doctor-1", GENERATION, STAMP, StatusQuery(1)])
    assert authenticator.decode(authenticator._mac_of(data) + data) is None
