"""Datagrams on a real socket."""

from __future__ import annotations

import queue
import select
import socket
import threading
import time

import pytest

from cauce.doctor.bind import address_of_socket, bind_doctors
from cauce.doctor.messaging.envelope import Authenticator, Envelope
from cauce.doctor.messaging.udp import UdpEndpoint, address_of, address_text, bind, client_socket
from cauce.doctor.model.desired_state import DesiredEntry, DesiredUpdate
from cauce.doctor.model.messages import Epoch, Generation, Kill, Message, ObservedProcess, ProcessList
from cauce.doctor.model.status import StatusQuery
from cauce.errors import UsageError

GENERATION = Generation(launch=2)
EPOCH = Epoch(1, "doctor-2")
AUTHENTICATOR = Authenticator("c", b"k" * 32)
ENOUGH_S = 10.0


def speaker(name: str) -> UdpEndpoint:
    return UdpEndpoint(AUTHENTICATOR, name, GENERATION, client_socket(["127.0.0.1:1"]))


def received(receiver: UdpEndpoint, sender: UdpEndpoint) -> list[tuple[Envelope, str]]:
    """Messages that arrive while both sides poll."""
    deadline = time.monotonic() + ENOUGH_S
    while time.monotonic() < deadline:
        receiver.wait(0.02)
        if found := list(receiver.receive()):
            return found
        assert list(sender.receive()) == []
    raise AssertionError("no message was received")


def bodies(receiver: UdpEndpoint, sender: UdpEndpoint) -> list[Message]:
    return [envelope.body for envelope, _ in received(receiver, sender)]


def quiet(receiver: UdpEndpoint) -> bool:
    """Whether all received datagrams are dropped."""
    assert receiver.wait(ENOUGH_S)
    found: list[tuple[Envelope, str]] = []
    while receiver.wait(0.05):
        found += receiver.receive()
    return not found


class Recorder:
    """A man in the middle that forwards all datagrams to a receiver and records them."""

    def __init__(self, receiver: socket.socket) -> None:
        self._receiver = receiver.getsockname()
        self._outer, self._inner = (bind("127.0.0.1:0") for _ in range(2))
        self._kept: list[bytes] = []
        self.address = address_of_socket(self._outer)
        self.admitted: list[tuple[Envelope, str]] = []

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self._outer.close()
        self._inner.close()

    def pass_on(self, receiver: UdpEndpoint, sender: UdpEndpoint) -> None:
        """Forwards until the receiver has accepted a message."""
        back = None
        while not self.admitted:
            found, _, _ = select.select([self._outer, self._inner], [], [], 0.02)
            for each in found:
                data, source = each.recvfrom(65536)
                if each is self._outer:
                    back = source
                    self._kept.append(data)
                    self._inner.sendto(data, self._receiver)
                elif back is not None:
                    self._outer.sendto(data, back)
            self.admitted += receiver.receive()
            assert list(sender.receive()) == []

    def repeat_all(self, sender: socket.socket | None = None) -> None:
        assert self._kept
        for data in self._kept:
            (sender or self._inner).sendto(data, self._receiver)


class Answering:
    """Doctors that poll their sockets in a thread."""

    def __init__(self, doctors: list[UdpEndpoint]) -> None:
        self._doctors = doctors
        self._got: queue.Queue[Message] = queue.Queue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Answering:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            for each in self._doctors:
                each.wait(0.01)
                for envelope, _ in each.receive():
                    self._got.put(envelope.body)

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            self._got.get(timeout=ENOUGH_S)


def test_a_message_arrives_with_its_senders_address() -> None:
    here, there = bind("127.0.0.1:0"), client_socket(["127.0.0.1:1"])
    one, other = (
        UdpEndpoint(AUTHENTICATOR, "doctor-1", GENERATION, here),
        UdpEndpoint(AUTHENTICATOR, "worker-1", GENERATION, there),
    )
    other.send(address_of_socket(here), StatusQuery(5))
    ((envelope, address),) = received(one, other)
    assert (envelope.sender, envelope.body) == ("worker-1", StatusQuery(5))
    one.send(address, StatusQuery(6))
    assert bodies(other, one) == [StatusQuery(6)]
    one.close()
    other.close()


def test_a_replayed_message_is_dropped() -> None:
    here, there = UdpEndpoint(AUTHENTICATOR, "doctor-1", GENERATION, bind("127.0.0.1:0")), speaker("doctor-2")
    with Recorder(here.socket) as recorder:
        there.send(recorder.address, Kill(EPOCH, "worker-1", GENERATION, "kill"))
        recorder.pass_on(here, there)
        assert [type(envelope.body) for envelope, _ in recorder.admitted] == [Kill]
        recorder.repeat_all()
        assert quiet(here)


def test_a_replayed_message_has_no_effect() -> None:
    """Its receiver must not learn an address from it: answers would go there."""
    here, there = UdpEndpoint(AUTHENTICATOR, "doctor-1", GENERATION, bind("127.0.0.1:0")), speaker("doctor-2")
    with Recorder(here.socket) as recorder, bind("127.0.0.1:0") as attacker:
        there.send(recorder.address, Kill(EPOCH, "worker-1", GENERATION, "kill"))
        recorder.pass_on(here, there)
        before = dict(here._sessions)
        assert before
        recorder.repeat_all(attacker)
        assert quiet(here)
        assert here._sessions == before


def test_a_message_from_before_the_receivers_start_is_dropped() -> None:
    here, there = UdpEndpoint(AUTHENTICATOR, "doctor-1", GENERATION, bind("127.0.0.1:0")), speaker("doctor-2")
    stop = DesiredUpdate([DesiredEntry("running", "no", 1 << 60, "operator")])
    with Recorder(here.socket) as recorder:
        there.send(recorder.address, stop)
        recorder.pass_on(here, there)
        assert [envelope.body for envelope, _ in recorder.admitted] == [stop]
        again = UdpEndpoint(AUTHENTICATOR, "doctor-1", GENERATION, here.socket)
        recorder.repeat_all()
        assert quiet(again)


def test_a_restarted_receiver_gets_the_next_message() -> None:
    here, there = UdpEndpoint(AUTHENTICATOR, "doctor-1", GENERATION, bind("127.0.0.1:0")), speaker("worker-1")
    there.send(address_of_socket(here.socket), StatusQuery(1))
    assert bodies(here, there) == [StatusQuery(1)]
    again = UdpEndpoint(AUTHENTICATOR, "doctor-1", GENERATION, here.socket)
    there.send(address_of_socket(here.socket), StatusQuery(2))
    assert bodies(again, there) == [StatusQuery(2)]


def test_first_messages_to_several_receivers_arrive_with_one_introduction() -> None:
    doctors = [UdpEndpoint(AUTHENTICATOR, f"doctor-{n}", GENERATION, bind("127.0.0.1:0")) for n in (1, 2, 3)]
    there = speaker("worker-1")
    with Answering(doctors) as answering:
        for doctor in doctors:
            there.send(address_of_socket(doctor.socket), StatusQuery(1))
        there.introduce(10.0)
        answering.wait_for(3)


NAMES = {"here.invalid": ["127.0.0.1", "127.0.1.1"], "both.invalid": ["127.0.0.1", "10.0.0.1"]}
get_address_info = socket.getaddrinfo


def look_up(host: str, port: int, family: int = 0, type: int = 0) -> list[tuple[object, ...]]:
    """Simulates a name server that resolves these names."""
    return [found for each in NAMES.get(host, [host]) for found in get_address_info(each, port, family, type)]


@pytest.mark.parametrize(
    ("beside", "bound"),
    [
        (["127.0.0.1:7700", "127.0.0.2:7700"], "127.0.0.1"),
        (["127.0.0.1:7700", "10.0.0.1:7700"], "0.0.0.0"),
        (["doctors.invalid:7700"], "0.0.0.0"),
        ([], "0.0.0.0"),
        (["[::1]:7700"], "::1"),
        (["here.invalid:7700"], "127.0.0.1"),
        (["here.invalid:7700", "both.invalid:7700"], "0.0.0.0"),
    ],
)
def test_a_socket_binds_to_loopback_unless_a_doctor_may_be_remote(
    beside: list[str], bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ":" in bound and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with client_socket(beside) as made:
        assert made.getsockname()[0] == bound


def test_messages_with_a_wrong_key_and_garbage_are_ignored() -> None:
    here = bind("127.0.0.1:0")
    one = UdpEndpoint(AUTHENTICATOR, "doctor-1", GENERATION, here)
    stranger = UdpEndpoint(Authenticator("c", b"x" * 32), "doctor-2", GENERATION, client_socket(["127.0.0.1:1"]))
    stranger.send(address_of_socket(here), StatusQuery(1))
    # Long enough for an exchange of sessions, without which no message is accepted.
    for _ in range(5):
        one.wait(0.02)
        assert list(one.receive()) == []
        stranger.wait(0.02)
        assert list(stranger.receive()) == []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loud:
        for data in (b"", b"x", b"y" * 60_000):
            loud.sendto(data, here.getsockname())
    friend = speaker("doctor-3")
    friend.send(address_of_socket(here), StatusQuery(9))
    assert bodies(one, friend) == [StatusQuery(9)]


def test_a_client_starts_before_the_names_of_doctors_resolve() -> None:
    here = bind("127.0.0.1:0")
    one = UdpEndpoint(AUTHENTICATOR, "doctor-1", GENERATION, here)
    other = UdpEndpoint(
        AUTHENTICATOR, "worker-1", GENERATION, client_socket(["no.such.host.invalid:1", "nor.this.invalid:1"])
    )
    other.send(address_of_socket(here), StatusQuery(3))
    assert bodies(one, other) == [StatusQuery(3)]


def test_a_message_that_cannot_be_sent_is_dropped_without_an_error() -> None:
    one = UdpEndpoint(AUTHENTICATOR, "doctor-1", GENERATION, bind("127.0.0.1:0"))
    one.send("no.such.host.invalid:1", StatusQuery(1))
    one.send("", StatusQuery(1))
    one.send("127.0.0.1:1", ProcessList("b", [ObservedProcess("worker-1" * 1000, GENERATION, 1, 1)] * 20))
    # No receiver: the kernel reports it later, which must not raise either.
    one.send("127.0.0.1:1", StatusQuery(1))
    assert list(one.receive()) == []


@pytest.mark.parametrize("text", ["127.0.0.1:7", "[::1]:7", "host.example:65535"])
def test_an_address_is_parsed_as_it_is_formatted(text: str) -> None:
    assert address_text(*address_of(text)) == text


@pytest.mark.parametrize("text", ["", "host", ":7", "host:", "host:x", "host:70000"])
def test_an_invalid_address_is_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        address_of(text)


def test_an_address_is_reused_if_it_is_free() -> None:
    first = bind_doctors(["doctor-1", "doctor-2"], {})
    known = {name: address_of_socket(bound) for name, bound in first.items()}
    first["doctor-1"].close()
    second = bind_doctors(["doctor-1", "doctor-2"], known)
    assert address_of_socket(second["doctor-1"]) == known["doctor-1"]
    assert address_of_socket(second["doctor-2"]) != known["doctor-2"]
    for bound in (first["doctor-2"], *second.values()):
        bound.close()
