"""Computes several iterators ahead in threads, and yields their items in order: decompression and kernels run without
Python's lock, so several compressed files are read at once. Each iterator is at most one item ahead of its reader."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from queue import Full, Queue
from typing import Generic, TypeVar

Item = TypeVar("Item")
Make = Callable[[], Iterator[Item]]

_POLL_S = 0.1


@dataclass(frozen=True)
class _End:
    """Follows the last item."""

    problem: BaseException | None = None


def ahead(makes: Sequence[Make[Item]], threads: int) -> Iterator[Item]:
    """The items of all iterators, one iterator after the other; up to `threads` of them are computed at once."""
    running: list[_Ahead[Item]] = []
    waiting = list(makes)
    try:
        while running or waiting:
            while waiting and len(running) < threads:
                running.append(_Ahead(waiting.pop(0)))
            yield from running[0]
            running.pop(0)
    finally:
        for each in running:
            each.stop()


class _Ahead(Generic[Item]):
    """An iterator that runs in a thread of its own. Its exception is raised where its next item would be."""

    def __init__(self, make: Make[Item]) -> None:
        self._items: Queue[Item | _End] = Queue(1)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(make,), daemon=True)
        self._thread.start()

    def _run(self, make: Make[Item]) -> None:
        end = _End()
        try:
            for item in make():
                if not self._put(item):
                    return
        except BaseException as problem:  # noqa: BLE001  (raised in the reader)
            end = _End(problem)
        self._put(end)

    def _put(self, item: Item | _End) -> bool:
        while not self._stopped.is_set():
            try:
                self._items.put(item, timeout=_POLL_S)
            except Full:
                continue
            return True
        return False

    def __iter__(self) -> Iterator[Item]:
        while not isinstance(item := self._items.get(), _End):
            yield item
        if item.problem is not None:
            raise item.problem

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
