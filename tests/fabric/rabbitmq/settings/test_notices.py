"""Tolerable findings are reported once per process."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from cauce.fabric.rabbitmq.settings.finding import Finding
from cauce.fabric.rabbitmq.settings.notices import listen, notice

WRONG = [Finding("frame_max", "more", "less", "wrong", "frame_max = more")]


@pytest.fixture
def reported() -> Iterator[list[Sequence[Finding]]]:
    heard: list[Sequence[Finding]] = []
    listen(heard.append)
    yield heard
    listen(None)


def test_many_threads_report_it_once(reported: list[Sequence[Finding]]) -> None:
    threads = [threading.Thread(target=notice, args=(WRONG,)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert reported == [WRONG]


def test_no_findings_are_not_reported(reported: list[Sequence[Finding]]) -> None:
    notice([])
    assert reported == []
    notice(WRONG)
    assert reported == [WRONG]


def test_a_new_listener_is_called_again(reported: list[Sequence[Finding]]) -> None:
    notice(WRONG)
    listen(reported.append)
    notice(WRONG)
    assert reported == [WRONG, WRONG]


def test_a_listener_is_optional() -> None:
    listen(None)
    notice(WRONG)
