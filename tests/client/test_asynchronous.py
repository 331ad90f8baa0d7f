"""The client for programs with an event loop: the same answers, and a loop that never waits."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator

import pytest

from cauce.client import AsyncJob, AsyncService, Job, Service
from cauce.errors import JobFailed
from tests.client.fake import Fake, FakeJob


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as running:
        running.jobs["j"] = FakeJob({"dataset": "own", "queries": []})
        yield running


def test_the_loop_runs_while_a_job_is_awaited(fake: Fake) -> None:
    async def main() -> int:
        rounds = 0
        async with AsyncService(fake.url) as service:
            waiting = asyncio.create_task(service.job("j").wait())
            while not waiting.done():
                rounds += 1
                if rounds == 20:
                    fake.jobs["j"].state = "done"
                await asyncio.sleep(0.01)
            assert (await waiting).state == "done"
        return rounds

    assert asyncio.run(main()) >= 20


def test_a_failed_job_is_raised_with_its_cause(fake: Fake) -> None:
    fake.jobs["j"].state, fake.jobs["j"].cause = "failed", "the milk was sour"

    async def main() -> None:
        async with AsyncService(fake.url) as service:
            await service.job("j").wait()

    with pytest.raises(JobFailed, match="job j is failed: the milk was sour"):
        asyncio.run(main())


def test_pages_and_jobs_are_those_of_the_blocking_client(fake: Fake) -> None:
    fake.jobs["j"].answers["q1"] = [[number, f"{number}"] for number in range(25)]
    fake.jobs["j"].state = "done"

    async def main() -> tuple[list[int], list[str]]:
        async with AsyncService(fake.url) as service:
            heights = [page.height async for page in service.job("j").pages("q1", limit=10)]
            return heights, [each.job for each in await service.jobs()]

    assert asyncio.run(main()) == ([10, 10, 5], ["j"])


def test_a_cancelled_wait_ends_at_the_next_status(fake: Fake) -> None:
    async def main() -> None:
        async with AsyncService(fake.url) as service:
            waiting = asyncio.create_task(service.job("j").wait())
            await asyncio.sleep(0)
            waiting.cancel()
            threading.Timer(0.1, lambda: setattr(fake.jobs["j"], "state", "done")).start()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asyncio.run(main())


@pytest.mark.parametrize(
    ("made", "blocking", "left_out"),
    [
        (AsyncJob, Job, {"head", "raw_pages", "rejects_head", "save_rejects", "until_complete"}),
        (AsyncService, Service, {"keep", "kept", "kept_files", "reached", "settings", "start", "using"}),
    ],
)
def test_it_has_the_methods_of_the_blocking_client(made: type, blocking: type, left_out: set[str]) -> None:
    def public(kind: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}

    assert public(blocking) - public(made) == left_out
