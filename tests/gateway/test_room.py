"""Room for bodies: who comes first is served first, and no owner holds another up."""

from __future__ import annotations

import asyncio

import pytest

from cauce.gateway.problems import HttpError
from cauce.gateway.receiving import Room


async def hold(room: Room, owner: str, size: int, until: asyncio.Event, log: list[str], name: str) -> None:
    async with room.of(owner, size, 30.0):
        log.append(name)
        await until.wait()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_what_does_not_fit_waits_in_its_order() -> None:
    async def main() -> None:
        room = Room(100, 100)
        ends = [asyncio.Event() for _ in range(3)]
        log: list[str] = []
        sizes = (80, 60, 30)
        tasks = []
        for number, size in enumerate(sizes):
            tasks.append(asyncio.create_task(hold(room, f"owner-{number}", size, ends[number], log, str(number))))
            await settle()
        # The third would fit only if it overtook the second.
        assert log == ["0"]
        ends[0].set()
        await settle()
        assert log == ["0", "1", "2"]
        assert room.held == 90
        for end in ends:
            end.set()
        await asyncio.gather(*tasks)
        assert room.held == 0

    asyncio.run(main())


def test_an_owner_at_its_limit_holds_nobody_else_up() -> None:
    async def main() -> None:
        room = Room(100, 50)
        end = asyncio.Event()
        log: list[str] = []
        tasks = [
            asyncio.create_task(hold(room, owner, 40, end, log, name))
            for owner, name in (("a", "a1"), ("a", "a2"), ("b", "b1"))
        ]
        await settle()
        assert log == ["a1", "b1"]
        end.set()
        await asyncio.gather(*tasks)
        assert log == ["a1", "b1", "a2"]

    asyncio.run(main())


def test_who_waits_too_long_is_told_to_come_again() -> None:
    async def main() -> None:
        room = Room(100, 100)
        async with room.of("a", 100):
            with pytest.raises(HttpError) as caught:
                async with room.of("b", 10, 0.01):
                    raise AssertionError("there is no room")
            assert caught.value.status == 429
        async with room.of("b", 100, 1.0):
            assert room.held == 100
        assert room.held == 0

    asyncio.run(main())


def test_who_goes_away_leaves_room() -> None:
    async def main() -> None:
        room = Room(100, 100)
        end = asyncio.Event()
        log: list[str] = []
        holding = asyncio.create_task(hold(room, "a", 100, end, log, "first"))
        waiting = asyncio.create_task(hold(room, "b", 100, end, log, "second"))
        await settle()
        waiting.cancel()
        holding.cancel()
        await asyncio.gather(holding, waiting, return_exceptions=True)
        assert room.held == 0
        async with room.of("c", 100, 1.0):
            assert log == ["first"]

    asyncio.run(main())
