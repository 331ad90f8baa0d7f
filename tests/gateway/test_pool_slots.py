"""Slots for heavy steps: a total, and a share of each owner."""

from __future__ import annotations

import asyncio

import pytest

from cauce.gateway.pool import OwnerSlots


async def settle() -> None:
    """Runs the event loop until every runnable task has run."""
    for _ in range(5):
        await asyncio.sleep(0)


async def admitted(slots: OwnerSlots, *owners: str) -> tuple[list[asyncio.Task[None]], list[bool]]:
    """Requests in this order, and whether each has a slot."""
    tasks = [asyncio.create_task(slots.acquire(owner)) for owner in owners]
    await settle()
    return tasks, [task.done() for task in tasks]


async def cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_an_owner_beyond_its_share_waits_and_others_do_not() -> None:
    async def main() -> None:
        slots = OwnerSlots(3, 2)
        tasks, states = await admitted(slots, "ana", "ana", "ana", "ben", "ben")
        assert states == [True, True, False, True, False]
        slots.release("ana")
        await settle()
        assert [task.done() for task in tasks] == [True, True, True, True, False]
        await cancel(tasks)

    asyncio.run(main())


def test_only_the_total_limits_clients_without_a_token() -> None:
    async def main() -> None:
        tasks, states = await admitted(OwnerSlots(3, 1), *["local"] * 4)
        assert states == [True, True, True, False]
        await cancel(tasks)

    asyncio.run(main())


@pytest.mark.parametrize("after_release", [False, True])
def test_a_request_that_is_cancelled_uses_no_slot(after_release: bool) -> None:
    async def main() -> None:
        slots = OwnerSlots(1, 1)
        tasks, states = await admitted(slots, "ana", "ben", "eva")
        assert states == [True, False, False]
        if after_release:
            # The slot is granted, but the task has not resumed yet.
            slots.release("ana")
            tasks[1].cancel()
        else:
            tasks[1].cancel()
            await settle()
            slots.release("ana")
        await settle()
        assert tasks[1].cancelled()
        assert tasks[2].done()
        await tasks[2]

    asyncio.run(main())
