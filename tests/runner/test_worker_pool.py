"""A prefork server started as a new program: what other users can see of it, and how it ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import psutil
import pytest

from cauce.runner.run import RunSettings, run_with_workers
from cauce.runner.sinks import Memory, Prepared, Silent, prepare
from cauce.runner.sql_source import source_of
from cauce.runner.worker_pool import WorkerPool
from cauce.sql_frontend.dataset import dataset_of


def test_the_address_of_the_fabric_is_not_an_argument() -> None:
    pool = WorkerPool("amqp://u:secret@127.0.0.1:1", 1, "books")
    pool.start()
    try:
        seen = set()
        while b"prefork server amqp" not in (line := Path(f"/proc/{pool.server_pid}/cmdline").read_bytes()):
            seen.add(line)
    finally:
        pool.kill()
    assert [line for line in (*seen, line) if b"secret" in line] == []


def test_a_kill_that_was_begun_ends_all_processes_and_restarts_none(tmp_path: Path) -> None:
    pool = WorkerPool(f"files:{tmp_path}", 2, "books")
    pool.start()
    while len(pool.pids) < 2:
        pool.watch()
    processes = [psutil.Process(pid) for pid in (pool.server_pid, *pool.pids.values())]
    pool.begin_kill()
    pool.kill()
    # A process has closed its files a moment before it is gone.
    psutil.wait_procs(processes, timeout=10)
    assert [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []
    assert pool.restarts == 0


STATEMENT = """
SELECT shop, sum(price * (1 - discount)) AS paid, max(day + INTERVAL '1' MONTH) AS due
FROM sales WHERE day < DATE '2024-03-01' - INTERVAL '1' DAY GROUP BY shop ORDER BY shop
"""


@pytest.fixture
def not_to_be_planned(tmp_path: Path) -> Prepared:
    """A job with a plan, and with a statement that no other process can plan."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "sales.csv").write_text(
        "shop,price,discount,day\n" + "a,1.50,0.10,2024-02-01\nb,2.00,0.50,2024-02-02\n" * 3
    )
    source = source_of(STATEMENT, data)
    prepared = prepare(dataset_of(source), data, partitions=2)
    return replace(prepared, sql=msgspec.structs.replace(source, text="this is not SQL"))


def answer(prepared: Prepared, pool: WorkerPool) -> list[tuple[object, ...]]:
    sink = Memory()
    run_with_workers(prepared, pool, sink, Silent(), RunSettings(pool.size))
    (frame,) = sink.answers(prepared.plan).values()
    return [(shop, str(paid), str(due)[:10]) for shop, paid, due in frame.rows()]


PAID = [("a", "4.0500", "2024-03-01"), ("b", "3.0000", "2024-03-02")]


def test_workers_use_the_plan_that_they_are_given(tmp_path: Path, not_to_be_planned: Prepared) -> None:
    pool = WorkerPool(f"files:{tmp_path / 'work'}", 2, "", awaits_plan=True)
    pool.start()
    try:
        assert answer(not_to_be_planned, pool) == PAID
    finally:
        pool.kill()


def test_the_next_prefork_server_gets_the_plan_too(tmp_path: Path, not_to_be_planned: Prepared) -> None:
    pool = WorkerPool(f"files:{tmp_path / 'work'}", 1, "", awaits_plan=True)
    pool.start()
    try:
        psutil.Process(pool.server_pid).kill()
        assert answer(not_to_be_planned, pool) == PAID
        assert pool.restarts == 1
    finally:
        pool.kill()
