"""A prefork server started as a new program: what other users can see of it."""

from __future__ import annotations

from pathlib import Path

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
