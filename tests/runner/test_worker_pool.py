"""A prefork server started as a new program: what other users can see of it, and how it ends."""

from __future__ import annotations

from pathlib import Path

import psutil

from cauce.runner.worker_pool import WorkerPool


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
