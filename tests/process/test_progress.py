"""Ticks call the listener."""

from __future__ import annotations

from cauce.process import progress


def test_a_listener_is_called_at_each_tick_until_it_is_removed() -> None:
    ticks: list[int] = []
    progress.listen(lambda: ticks.append(1))
    progress.tick()
    progress.tick()
    progress.listen(None)
    progress.tick()
    assert len(ticks) == 2
