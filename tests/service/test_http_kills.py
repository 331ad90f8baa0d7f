"""Gateways that crash during uploads, and a service that is stopped under load: nothing is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import urllib3

from tests.cli.running import cauce
from tests.service.conftest import QUERIES, Case
from tests.service.running import ENOUGH_S, Piece, Running, pieces_of, until

SENDERS = 4
GENEROUS_S = 30.0
"""For what takes less than five seconds on a machine left in peace."""


def send_all(url: Callable[[], str], job: str, pieces: list[Piece], statuses: list[int], stop: threading.Event) -> None:
    """Sends the pieces one by one, each as often as it takes, wherever `url` points by then."""
    http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(20.0))
    for piece in pieces:
        due = time.monotonic() + ENOUGH_S
        while not stop.is_set():
            path = f"{url()}/v1/jobs/{job}/tables/{piece.table}/parts/{piece.seq}"
            try:
                status = http.request("PUT", path, body=piece.body, headers=piece.headers).status
            except urllib3.exceptions.HTTPError:
                status = 0
            statuses.append(status)
            if status in (200, 201):
                break
            assert status in (0, 429, 503), status
            assert time.monotonic() < due
            time.sleep(0.02)


def share(pieces: list[Piece], senders: int) -> list[list[Piece]]:
    return [pieces[number::senders] for number in range(senders)]


def counts(pieces: list[Piece]) -> dict[str, int]:
    tables = [piece.table for piece in pieces]
    return {table: tables.count(table) for table in dict.fromkeys(tables)}


def finish(service: Running, job: str, pieces: list[Piece], case: Case) -> None:
    """Everything is held once, and the answers are the oracle's."""
    for table, parts in counts(pieces).items():
        held = service.get(f"/v1/jobs/{job}/tables/{table}").json()
        assert held["ranges"] == [[0, parts - 1]]
        assert held["count"] == parts
        assert held["bytes"] == sum(len(piece.body) for piece in pieces if piece.table == table)
        assert service.complete(job, table, parts).status == 200
    service.wait_done(job)
    for query in QUERIES:
        assert service.get(f"/v1/jobs/{job}/results/{query}").body == case.wanted[query]
    assert service.get(f"/v1/jobs/{job}/rejects").body == case.wanted["rejects"]


def replaced(service: Running, before: list[int]) -> bool:
    return len(set(service.children("cauce gateway")) - set(before)) == 1


def test_kill_of_one_of_two_gateways_during_uploads(tmp_path: Path, case: Case) -> None:
    pieces = pieces_of("books", case.data, 2**14, QUERIES)
    assert len(pieces) > 100
    with (
        Running(tmp_path, "serve", "--workers", "1", "--gateways", "1") as survivor,
        Running(tmp_path, "gateway") as victim,
    ):
        assert victim.create("torn", queries=QUERIES).status == 201
        statuses: list[int] = []
        stop = threading.Event()
        # Each sender begins at one of the two, and goes to the other when that one is gone.
        senders = [
            threading.Thread(
                target=send_all,
                args=(
                    lambda: victim.url if victim.process.poll() is None else survivor.url,
                    "torn",
                    each,
                    statuses,
                    stop,
                ),
            )
            for each in share(pieces, SENDERS)
        ]
        for sender in senders:
            sender.start()
        until("a third of the parts", lambda: len(statuses) > len(pieces) // 3)
        victim.kill()
        for sender in senders:
            sender.join(ENOUGH_S)
        assert not any(sender.is_alive() for sender in senders)
        # The kill hit somebody, and cost each sender one part at most.
        assert statuses.count(0) + statuses.count(200) >= 1
        assert statuses.count(200) <= SENDERS
        finish(survivor, "torn", pieces, case)


def test_gateways_on_one_port_are_killed_again_and_again(tmp_path: Path, case: Case) -> None:
    pieces = pieces_of("books", case.data, 2**14, QUERIES)
    with Running(tmp_path, "serve", "--workers", "1", "--gateways", "2") as service:
        service.create("stormy", queries=QUERIES)
        statuses: list[int] = []
        stop = threading.Event()
        senders = [
            threading.Thread(target=send_all, args=(lambda: service.url, "stormy", each, statuses, stop))
            for each in share(pieces, SENDERS)
        ]
        for sender in senders:
            sender.start()
        chance = random.Random(3)
        kills = 0
        while any(sender.is_alive() for sender in senders) and kills < 5:
            before = service.children("cauce gateway")
            if len(before) == 2:
                os.kill(chance.choice(before), signal.SIGKILL)
                kills += 1
                took = until("another gateway", partial(replaced, service, before))
                sys.stdout.write(f"a gateway was there again after {took:.2f} s\n")
            time.sleep(0.05)
        for sender in senders:
            sender.join(ENOUGH_S)
        assert not any(sender.is_alive() for sender in senders)
        assert kills >= 1
        finish(service, "stormy", pieces, case)
        assert len(service.events("gateway crashed")) == kills
        assert len(service.children("cauce gateway")) == 2


def test_sigterm_under_load_ends_all_with_exit_code_0(tmp_path: Path, case: Case) -> None:
    pieces = pieces_of("books", case.data, 2**14, QUERIES)
    with Running(tmp_path, "serve", "--workers", "2", "--gateways", "2") as service:
        service.create("stopped", queries=QUERIES)
        statuses: list[int] = []
        stop = threading.Event()
        senders = [
            threading.Thread(target=send_all, args=(lambda: service.url, "stopped", each, statuses, stop))
            for each in share(pieces, SENDERS)
        ]
        http = urllib3.PoolManager(retries=False)
        streams = [
            http.request("GET", f"{service.url}/v1/jobs/stopped/events", preload_content=False) for _ in range(4)
        ]
        for sender in senders:
            sender.start()
        until("some parts", lambda: statuses.count(201) > 20)
        everyone = [*service.children("cauce"), service.process.pid]
        started = time.monotonic()
        code = service.stop()
        took = time.monotonic() - started
        stop.set()
        sys.stdout.write(f"stopped under load in {took:.2f} s\n")
        assert code == 0
        assert took < GENEROUS_S
        for stream in streams:
            # Ended, not broken off.
            stream.read()
        for sender in senders:
            sender.join(ENOUGH_S)
        until("the end of every process", lambda: not any(Path(f"/proc/{pid}").exists() for pid in everyone))
        confirmed = statuses.count(201)
    assert not service.events("gateway cut off")
    with Running(tmp_path, "serve", "--workers", "2", "--gateways", "2") as again:
        held = sum(int(str(again.get(f"/v1/jobs/stopped/tables/{table}").json()["count"])) for table in counts(pieces))
        # Nothing that was confirmed is lost; what was not may be there.
        assert confirmed <= held <= confirmed + SENDERS
        again.upload("stopped", pieces)
        finish(again, "stopped", pieces, case)


def test_a_service_outlives_its_starter_until_it_is_stopped(tmp_path: Path) -> None:
    service = Running(tmp_path, "serve", "--workers", "1", "--gateways", "2")
    everyone = [pid for title in ("worker", "gateway", "doctor") for pid in service.children(f"cauce {title}")]
    assert len(everyone) == 6
    service.process.kill()
    service.process.wait()
    assert service.get("/readyz").status == 200
    assert all(Path(f"/proc/{pid}").exists() for pid in everyone)
    assert cauce(tmp_path, "stop", "--dir", str(service.folder)).code == 0
    until("the end of every process", lambda: not any(Path(f"/proc/{pid}").exists() for pid in everyone))


def test_a_crashed_worker_is_replaced(tmp_path: Path, case: Case) -> None:
    with Running(tmp_path, "serve", "--workers", "1", "--gateways", "1") as service:
        until("a worker", lambda: len(service.children("cauce worker")) == 1)
        (worker,) = service.children("cauce worker")
        os.kill(worker, signal.SIGKILL)
        service.create("after", queries=["q1"])
        service.upload("after", [piece for piece in case.pieces if piece.table == "books"])
        service.wait_done("after")
        assert service.events("worker crashed")
