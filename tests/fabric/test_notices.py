"""What a fabric can live with is told once in a process."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from cauce.broker.finding import Finding
from cauce.fabric.notices import listen, notice

WRONG = [Finding("frame_max", "more", "less", "wrong", "frame_max = more")]


@pytest.fixture
def told() -> Iterator[list[Sequence[Finding]]]:
    heard: list[Sequence[Finding]] = []
    listen(heard.append)
    yield heard
    listen(None)


def test_many_threads_tell_it_once(told: list[Sequence[Finding]]) -> None:
    threads = [threading.Thread(target=notice, args=(WRONG,)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert told == [WRONG]


def test_nothing_wrong_is_nothing_told(told: list[Sequence[Finding]]) -> None:
    notice([])
    assert told == []
    notice(WRONG)
    assert told == [WRONG]


def test_who_asks_anew_is_told_anew(told: list[Sequence[Finding]]) -> None:
    notice(WRONG)
    listen(told.append)
    notice(WRONG)
    assert told == [WRONG, WRONG]


def test_nobody_has_to_listen() -> None:
    listen(None)
    notice(WRONG)
