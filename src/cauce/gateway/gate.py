"""How many requests may be open at once, in all and for one owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from cauce.gateway.names import LOCAL
from cauce.gateway.problems import HttpError
from cauce.wire.http import RETRY_AFTER


class Gate:
    """Used from one event loop. Those without a token cannot be told apart, so that only the whole limits them."""

    def __init__(self, total: int, owner: int) -> None:
        self._total = total
        self._owner = owner
        self._open: Counter[str] = Counter()
        self.open = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        if self.open >= self._total:
            raise _too_many(f"{self._total} requests are open here")
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1

    def enter_as(self, owner: str) -> None:
        if owner != LOCAL and self._open[owner] >= self._owner:
            raise _too_many(f"you have {self._owner} requests open here")
        self._open[owner] += 1

    def leave_as(self, owner: str) -> None:
        self._open[owner] -= 1
        if not self._open[owner]:
            del self._open[owner]


def _too_many(said: str) -> HttpError:
    return HttpError(429, "too-many-requests", f"{said}, which is the limit; try again in a moment", {RETRY_AFTER: "1"})
