"""Threads that do the work of requests, each with a fabric and a job service of its own: the event loop never waits
for a disk, and no fabric is used by two threads."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
import zlib
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Closing(Protocol):
    def close(self) -> None: ...


Held = TypeVar("Held", bound=Closing)
Outcome = TypeVar("Outcome")


class Member(Generic[Held]):
    """A thread and what it holds. `waiting` belongs to the event loop: what was given to it and is not done yet."""

    def __init__(self, name: str, make: Callable[[], Held]) -> None:
        self.waiting = 0
        self.steps: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._make = make
        self._held: Held | None = None
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def held(self) -> Held:
        """Made at need, so that a folder that cannot be used now is tried again with the next step."""
        if self._held is None:
            self._held = self._make()
        return self._held

    def _run(self) -> None:
        while (step := self.steps.get()) is not None:
            step()
            # What the step carried (a part of many bytes) is not to live until the next one comes.
            del step
        if self._held is not None:
            self._held.close()


class Pool(Generic[Held]):
    """Used from one event loop."""

    def __init__(self, size: int, make: Callable[[], Held]) -> None:
        self.done = 0
        """Steps that are over: that it grows shows that the threads work."""
        self._members = [Member(f"pool-{number}", make) for number in range(size)]

    def start(self) -> None:
        for member in self._members:
            member.thread.start()

    @property
    def waiting(self) -> int:
        """Steps that are not done yet."""
        return sum(member.waiting for member in self._members)

    def choose(self, about: str) -> Member[Held]:
        """Steps about the same thing meet in the same thread as long as none is idle beside it: that one has read on
        where the others would begin."""
        favourite = zlib.crc32(about.encode()) % len(self._members)
        ranked = [(each.waiting, number != favourite) for number, each in enumerate(self._members)]
        return self._members[ranked.index(min(ranked))]

    async def run(self, step: Callable[[Held], Outcome], about: str) -> Outcome:
        return await self.run_on(self.choose(about), step)

    async def run_on(self, member: Member[Held], step: Callable[[Held], Outcome]) -> Outcome:
        """The outcome of a step in a given thread: for steps that go on with what an earlier one has opened."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()

        def settle(outcome: Outcome | None, problem: Exception | None) -> None:
            member.waiting -= 1
            self.done += 1
            if future.cancelled():
                return
            if problem is not None:
                future.set_exception(problem)
            else:
                future.set_result(outcome)  # type: ignore[arg-type]

        def work() -> None:
            outcome, failure = None, None
            if not future.cancelled():
                try:
                    outcome = step(member.held())
                except Exception as problem:  # noqa: BLE001  (it is raised where the step was asked for)
                    failure = problem
            # The loop may have ended before us.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, outcome, failure)

        member.waiting += 1
        member.steps.put(work)
        return await future

    def stop(self, within_s: float) -> None:
        """Lets every thread finish what it is at; one that does not in time is left to the end of the process."""
        for member in self._members:
            member.steps.put(None)
        deadline = time.monotonic() + within_s
        for member in self._members:
            member.thread.join(max(deadline - time.monotonic(), 0.0))
