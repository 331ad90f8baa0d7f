"""Thread pool that runs the blocking work of requests. The event loop never waits for a disk, and a fabric is never
shared by two threads: each thread has its own fabric and job service."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
import zlib
from collections import Counter, deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from cauce.api.names import LOCAL


class Closing(Protocol):
    def close(self) -> None: ...


Held = TypeVar("Held", bound=Closing)
Outcome = TypeVar("Outcome")


class Member(Generic[Held]):
    """A thread and its own resource. `waiting` counts its unfinished steps; only the event loop writes it."""

    def __init__(self, name: str, make: Callable[[], Held]) -> None:
        self.waiting = 0
        self.steps: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._make = make
        self._held: Held | None = None
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def held(self) -> Held:
        """Created lazily: if opening fails, the next step retries it."""
        if self._held is None:
            self._held = self._make()
        return self._held

    def _run(self) -> None:
        while (step := self.steps.get()) is not None:
            step()
            # Free the step's data (a part may be large) now, not when the next step arrives.
            del step
        if self._held is not None:
            self._held.close()


class Pool(Generic[Held]):
    """Used from one event loop."""

    def __init__(self, size: int, make: Callable[[], Held]) -> None:
        self.done = 0
        """Finished steps. It grows while the threads make progress."""
        self._members = [Member(f"pool-{number}", make) for number in range(size)]
        # Heavy steps leave one thread for other steps, and those of one owner leave half of the threads.
        self._slots = OwnerSlots(max(size - 1, 1), max(size // 2, 1))

    def start(self) -> None:
        for member in self._members:
            member.thread.start()

    @property
    def waiting(self) -> int:
        """Unfinished steps."""
        return sum(member.waiting for member in self._members)

    def choose(self, about: str) -> Member[Held]:
        """The least loaded thread. Among equals, steps with the same `about` go to the same thread, whose read model is
        the most recent."""
        favourite = zlib.crc32(about.encode()) % len(self._members)
        ranked = [(each.waiting, number != favourite) for number, each in enumerate(self._members)]
        return self._members[ranked.index(min(ranked))]

    async def run(self, step: Callable[[Held], Outcome], about: str) -> Outcome:
        return await self.run_on(self.choose(about), step)

    async def run_heavy(self, step: Callable[[Held], Outcome], about: str, owner: str) -> Outcome:
        """Like `run`, for long steps. Their number is limited in total and per owner; the rest wait without occupying a
        thread."""
        await self._slots.acquire(owner)
        # Release the slot when the step ends, not when its client disconnects: until then it occupies a thread.
        return await self.run_on(self.choose(about), step, over=lambda: self._slots.release(owner))

    async def run_everywhere(self, step: Callable[[Held], object]) -> None:
        """Runs the step once in every thread, on each thread's own resource."""
        await asyncio.gather(*(self.run_on(member, step) for member in self._members))

    async def run_on(
        self, member: Member[Held], step: Callable[[Held], Outcome], over: Callable[[], None] = lambda: None
    ) -> Outcome:
        """Runs a step in a given thread, for steps that use what an earlier step opened there. `over` is called when
        the step has ended."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()

        def settle(outcome: Outcome | None, problem: Exception | None) -> None:
            member.waiting -= 1
            self.done += 1
            over()
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
                except BaseException as problem:  # noqa: BLE001  (raised in the caller; the thread must survive it)
                    failure = _raisable(problem)
            # The event loop may be closed already.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, outcome, failure)

        member.waiting += 1
        member.steps.put(work)
        return await future

    def stop(self, within_s: float) -> None:
        """Waits for every thread to finish its queue. Threads still busy after the timeout end with the process."""
        for member in self._members:
            member.steps.put(None)
        deadline = time.monotonic() + within_s
        for member in self._members:
            member.thread.join(max(deadline - time.monotonic(), 0.0))


def _raisable(problem: BaseException) -> Exception:
    """An exception that a coroutine can raise. A panic of a Rust library and SystemExit are not an `Exception`: they
    would end the event loop. A future accepts no StopIteration."""
    if isinstance(problem, Exception) and not isinstance(problem, StopIteration):
        return problem
    wrapped = RuntimeError(f"{type(problem).__name__}: {problem}")
    wrapped.__cause__ = problem
    return wrapped


class OwnerSlots:
    """Limits concurrent heavy steps, in total and per owner: the steps of one owner never occupy all threads.

    Used from one event loop. Slots are granted first come, first served, skipping owners that use their share.
    Clients without a token share one owner, so only the total limits them."""

    def __init__(self, total: int, share: int) -> None:
        self._total = total
        self._share = share
        self._used: Counter[str] = Counter()
        self._waiting: deque[tuple[str, asyncio.Future[None]]] = deque()

    async def acquire(self, owner: str) -> None:
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((owner, admitted))
        self._admit()
        try:
            await admitted
        except asyncio.CancelledError:
            if not admitted.cancelled():
                # Admitted and cancelled in the same iteration: nobody else would release the slot.
                self.release(owner)
            raise

    def release(self, owner: str) -> None:
        self._used[owner] -= 1
        if not self._used[owner]:
            del self._used[owner]
        self._admit()

    def _admit(self) -> None:
        left: deque[tuple[str, asyncio.Future[None]]] = deque()
        for owner, admitted in self._waiting:
            if admitted.cancelled():
                continue
            if self._used.total() < self._total and (owner == LOCAL or self._used[owner] < self._share):
                self._used[owner] += 1
                admitted.set_result(None)
            else:
                left.append((owner, admitted))
        self._waiting = left
