"""A request body while it is received: how fast it arrives, and how to give it up in favour of other requests."""

from __future__ import annotations

import asyncio


class IncomingBody:
    """Used from one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()
        self._bytes = 0
        self.reading: asyncio.Timeout | None = None
        """The timeout of the current read from the client, if one is in progress."""
        self.evicted = False

    def count(self, size: int) -> None:
        self._bytes += size

    @property
    def age_s(self) -> float:
        return self._loop.time() - self._since

    @property
    def bytes_per_s(self) -> float:
        """The average rate since the first read."""
        return self._bytes / max(self.age_s, 1e-3)

    def evict(self) -> None:
        """Ends the current read with a TimeoutError."""
        self.evicted = True
        if self.reading is not None:
            self.reading.reschedule(self._loop.time())
