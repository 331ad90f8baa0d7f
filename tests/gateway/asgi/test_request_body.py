"""The memory budget for bodies: counted on arrival, granted in FIFO order, with no owner blocking another."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from cauce.gateway.asgi import request_body
from cauce.gateway.asgi.problems import HttpError
from cauce.gateway.asgi.request_body import BodyBudget, IncomingBody


class Body:
    """A body that acquires budget step by step."""

    def __init__(self, budget: BodyBudget, owner: str = "a") -> None:
        self._block = budget.body(owner)
        self.incoming: IncomingBody = self._block.__enter__()

    def arrive(self, size: int) -> asyncio.Task[float]:
        return asyncio.create_task(self.incoming.acquire(size, 30.0))

    def end(self) -> None:
        self._block.__exit__(None, None, None)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(main)


def test_a_body_holds_budget_for_the_bytes_that_have_arrived() -> None:
    async def main() -> None:
        budget = BodyBudget(100)
        body = Body(budget)
        await body.arrive(10)
        assert budget.held == 10
        await body.arrive(20)
        assert budget.held == 30
        body.end()
        assert budget.held == 0

    run(main())


def test_bodies_that_do_not_fit_are_granted_in_fifo_order() -> None:
    async def main() -> None:
        budget = BodyBudget(100)
        bodies = [Body(budget, f"owner-{number}") for number in range(3)]
        await bodies[0].arrive(80)
        second, third = bodies[1].arrive(60), bodies[2].arrive(10)
        await settle()
        # The third would fit only if it overtook the second.
        assert not second.done()
        assert not third.done()
        bodies[0].end()
        await asyncio.gather(second, third)
        assert budget.held == 70

    run(main())


def test_an_owner_at_its_limit_does_not_block_others() -> None:
    async def main() -> None:
        budget = BodyBudget(100)
        one, another, other = Body(budget, "a"), Body(budget, "a"), Body(budget, "b")
        await one.arrive(30)
        waiting = another.arrive(30)
        await other.arrive(30)
        assert not waiting.done()
        one.end()
        await waiting

    run(main())


def test_a_body_larger_than_the_budget_is_received_alone() -> None:
    async def main() -> None:
        budget = BodyBudget(100)
        large, small = Body(budget, "a"), Body(budget, "b")
        for _ in range(5):
            await large.arrive(40)
        waiting = small.arrive(1)
        await settle()
        assert not waiting.done()
        large.end()
        await waiting

    run(main())


def test_a_deadlock_between_bodies_rejects_the_newest() -> None:
    async def main() -> None:
        budget = BodyBudget(100)
        first, second = Body(budget, "a"), Body(budget, "b")
        await first.arrive(50)
        await second.arrive(50)
        granted, rejected = first.arrive(50), second.arrive(50)
        with pytest.raises(HttpError) as caught:
            await rejected
        assert (caught.value.status, caught.value.code) == (429, "slow-down")
        second.end()
        await granted

    run(main())


def test_a_deadlock_between_bodies_of_one_owner_rejects_the_newest() -> None:
    async def main() -> None:
        budget = BodyBudget(100)
        first, second = Body(budget, "a"), Body(budget, "a")
        await first.arrive(25)
        await second.arrive(25)
        granted, rejected = first.arrive(20), second.arrive(20)
        with pytest.raises(HttpError):
            await rejected
        second.end()
        await granted

    run(main())


def test_a_body_that_times_out_is_rejected_with_429() -> None:
    async def main() -> None:
        budget = BodyBudget(100)
        one, other = Body(budget, "a"), Body(budget, "b")
        await one.arrive(100)
        with pytest.raises(HttpError) as caught:
            await other.incoming.acquire(10, 0.01)
        assert caught.value.status == 429
        one.end()
        await other.arrive(100)
        assert budget.held == 100

    run(main())


def test_a_cancelled_wait_releases_its_budget() -> None:
    async def main() -> None:
        budget = BodyBudget(100)
        one, other = Body(budget, "a"), Body(budget, "b")
        await one.arrive(100)
        waiting = other.arrive(100)
        await settle()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        other.end()
        one.end()
        assert budget.held == 0
        await Body(budget, "c").arrive(100)

    run(main())


def test_a_slow_body_is_evicted_for_a_waiting_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "PRESSURE_S", 0.01)

    async def main() -> None:
        budget = BodyBudget(100)
        slow, other = Body(budget, "a"), Body(budget, "a")
        await slow.arrive(100)

        body = slow.incoming

        async def read() -> None:
            async with asyncio.timeout(30) as body.reading:
                await asyncio.Event().wait()

        reading = asyncio.create_task(read())
        waiting = other.arrive(10)
        with pytest.raises(TimeoutError):
            await reading
        assert body.evicted
        slow.end()
        await waiting

    run(main())
