"""Datagrams on a real socket."""

from __future__ import annotations

import socket

import pytest

from cauce.doctor.messages import Census, Incarnation, Seen
from cauce.doctor.post import Post, address_of, address_text, bind, unbound
from cauce.doctor.seal import Sealer
from cauce.doctor.seat import address_of_socket, free_seats
from cauce.doctor.view import Ask
from cauce.errors import UsageError

LIFE = Incarnation(launch=2)
SEALER = Sealer("c", b"k" * 32)


def test_a_letter_gets_there_with_its_senders_address() -> None:
    here, there = bind("127.0.0.1:0"), unbound(["127.0.0.1:1"])
    one, other = Post(SEALER, "doctor-1", LIFE, here), Post(SEALER, "worker-1", LIFE, there)
    other.send(address_of_socket(here), Ask(5))
    assert one.wait(5.0)
    ((letter, address),) = list(one.receive())
    assert (letter.sender, letter.body) == ("worker-1", Ask(5))
    one.send(address, Ask(6))
    assert other.wait(5.0)
    assert [letter.body for letter, _ in other.receive()] == [Ask(6)]
    one.close()
    other.close()


def test_strangers_and_garbage_are_passed_over() -> None:
    here = bind("127.0.0.1:0")
    one = Post(SEALER, "doctor-1", LIFE, here)
    stranger = Post(Sealer("c", b"x" * 32), "doctor-2", LIFE, unbound(["127.0.0.1:1"]))
    stranger.send(address_of_socket(here), Ask(1))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loud:
        for data in (b"", b"x", b"y" * 60_000):
            loud.sendto(data, here.getsockname())
    Post(SEALER, "doctor-3", LIFE, unbound(["127.0.0.1:1"])).send(address_of_socket(here), Ask(9))
    assert one.wait(5.0)
    assert [letter.body for letter, _ in one.receive()] == [Ask(9)]


def test_who_speaks_to_doctors_starts_although_their_names_are_not_known_yet() -> None:
    here = bind("127.0.0.1:0")
    one = Post(SEALER, "doctor-1", LIFE, here)
    other = Post(SEALER, "worker-1", LIFE, unbound(["no.such.host.invalid:1", "nor.this.invalid:1"]))
    other.send(address_of_socket(here), Ask(3))
    assert one.wait(5.0)


def test_what_cannot_be_sent_is_lost_and_no_error() -> None:
    one = Post(SEALER, "doctor-1", LIFE, bind("127.0.0.1:0"))
    one.send("no.such.host.invalid:1", Ask(1))
    one.send("", Ask(1))
    one.send("127.0.0.1:1", Census("b", [Seen("worker-1" * 1000, LIFE, 1, 1)] * 20))
    # Nobody listens there: the kernel says so later, and that is no error either.
    one.send("127.0.0.1:1", Ask(1))
    assert list(one.receive()) == []


@pytest.mark.parametrize("text", ["127.0.0.1:7", "[::1]:7", "host.example:65535"])
def test_addresses_are_read_as_they_are_written(text: str) -> None:
    assert address_text(*address_of(text)) == text


@pytest.mark.parametrize("text", ["", "host", ":7", "host:", "host:x", "host:70000"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        address_of(text)


def test_a_seat_is_kept_where_it_is_free() -> None:
    first = free_seats(["doctor-1", "doctor-2"], {})
    known = {name: address_of_socket(seat) for name, seat in first.items()}
    first["doctor-1"].close()
    second = free_seats(["doctor-1", "doctor-2"], known)
    assert address_of_socket(second["doctor-1"]) == known["doctor-1"]
    assert address_of_socket(second["doctor-2"]) != known["doctor-2"]
    for seat in (first["doctor-2"], *second.values()):
        seat.close()
