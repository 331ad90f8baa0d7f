"""Threads with their own resources, used from an event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from cauce.gateway.pool import Pool


class Own:
    """A resource that records the thread that created it."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.closed = False

    def close(self) -> None:
        assert threading.get_ident() == self.thread
        self.closed = True


def test_each_thread_uses_its_own_resource() -> None:
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


def test_steps_with_the_same_key_run_in_the_same_idle_thread() -> None:
    async def main() -> None:
        pool = Pool(4, Own)
        pool.start()
        for about in ("a", "b", "c"):
            assert len({await pool.run(lambda own: own.thread, about) for _ in range(10)}) == 1
        pool.stop(5)

    asyncio.run(main())


def test_an_exception_of_a_step_is_raised_in_the_caller() -> None:
    async def main() -> None:
        pool = Pool(1, Own)
        pool.start()
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda _: 1 // 0, "x")
        assert await pool.run(lambda _: 7, "x") == 7
        pool.stop(5)

    asyncio.run(main())


class Panic(BaseException):
    """Not an `Exception`, like the panic of a Rust library."""


@pytest.mark.parametrize("problem", [Panic, SystemExit, KeyboardInterrupt, StopIteration])
def test_a_thread_survives_a_step_that_raises_a_base_exception(problem: type[BaseException]) -> None:
    def step(_: Own) -> None:
        raise problem("poisoned")

    async def main() -> None:
        pool = Pool(1, Own)
        pool.start()
        with pytest.raises(RuntimeError, match=f"{problem.__name__}: poisoned"):
            await asyncio.wait_for(pool.run(step, "x"), 10)
        assert await asyncio.wait_for(pool.run(lambda _: 7, "x"), 10) == 7
        assert pool.waiting == 0
        pool.stop(5)

    asyncio.run(main())


def test_creating_a_resource_is_retried() -> None:
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


def test_a_cancelled_step_is_not_started() -> None:
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


def test_heavy_steps_of_one_owner_leave_threads_for_others() -> None:
    async def main() -> None:
        pool = Pool(4, Own)
        pool.start()
        go_on = threading.Event()
        begun: list[str] = []

        def heavy(owner: str) -> asyncio.Task[bool]:
            def step(own: Own) -> bool:
                begun.append(owner)
                return go_on.wait(10)

            return asyncio.create_task(pool.run_heavy(step, "x", owner))

        tasks = [heavy("ana") for _ in range(20)] + [heavy("ben") for _ in range(20)]
        while len(begun) < 3:
            await asyncio.sleep(0.001)
        # No thread runs more than one of them, and one is free.
        assert pool.waiting == 3
        assert await pool.run(lambda _: 7, "x") == 7
        assert sorted(begun) == ["ana", "ana", "ben"]
        go_on.set()
        assert all(await asyncio.gather(*tasks))
        pool.stop(5)

    asyncio.run(main())


def test_a_heavy_step_counts_until_its_thread_is_done() -> None:
    async def main() -> None:
        pool = Pool(1, Own)
        pool.start()
        begun, go_on = threading.Event(), threading.Event()

        def first(own: Own) -> None:
            begun.set()
            go_on.wait(10)

        abandoned = asyncio.create_task(pool.run_heavy(first, "x", "ana"))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        abandoned.cancel()
        waiting = asyncio.create_task(pool.run_heavy(lambda _: 7, "x", "ana"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert pool.waiting == 1
        go_on.set()
        assert await waiting == 7
        pool.stop(5)

    asyncio.run(main())
