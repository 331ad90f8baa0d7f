"""Threads with something of their own, used from an event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from cauce.gateway.pool import Pool


class Own:
    """Knows the thread it belongs to."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.closed = False

    def close(self) -> None:
        assert threading.get_ident() == self.thread
        self.closed = True


def test_each_thread_uses_what_is_its_own() -> None:
    async def main() -> None:
        pool = Pool(3, Own)
        pool.start()
        gate = threading.Barrier(3)

        def step(own: Own) -> int:
            gate.wait(10)
            assert own.thread == threading.get_ident()
            return own.thread

        found = await asyncio.gather(*(pool.run(step, "same") for _ in range(3)))
        assert len(set(found)) == 3
        assert pool.waiting == 0
        pool.stop(5)

    asyncio.run(main())


def test_steps_about_the_same_thing_meet_in_one_idle_thread() -> None:
    async def main() -> None:
        pool = Pool(4, Own)
        pool.start()
        for about in ("a", "b", "c"):
            assert len({await pool.run(lambda own: own.thread, about) for _ in range(10)}) == 1
        pool.stop(5)

    asyncio.run(main())


def test_what_a_step_raises_is_raised_where_it_was_asked_for() -> None:
    async def main() -> None:
        pool = Pool(1, Own)
        pool.start()
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda _: 1 // 0, "x")
        assert await pool.run(lambda _: 7, "x") == 7
        pool.stop(5)

    asyncio.run(main())


def test_what_cannot_be_made_is_tried_again() -> None:
    tries = 0

    def make() -> Own:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise OSError("not now")
        return Own()

    async def main() -> None:
        pool = Pool(1, make)
        pool.start()
        with pytest.raises(OSError, match="not now"):
            await pool.run(lambda _: 1, "x")
        assert await pool.run(lambda _: 1, "x") == 1
        pool.stop(5)

    asyncio.run(main())


def test_a_step_that_nobody_waits_for_any_more_is_not_begun() -> None:
    async def main() -> None:
        pool = Pool(1, Own)
        pool.start()
        begun, go_on = threading.Event(), threading.Event()
        ran: list[str] = []

        def first(own: Own) -> None:
            begun.set()
            go_on.wait(10)

        running = asyncio.create_task(pool.run(first, "x"))
        waiting = asyncio.create_task(pool.run(lambda _: ran.append("second"), "x"))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        waiting.cancel()
        await asyncio.sleep(0)
        go_on.set()
        await running
        await pool.run(lambda _: ran.append("third"), "x")
        assert ran == ["third"]
        assert pool.waiting == 0
        pool.stop(5)

    asyncio.run(main())
