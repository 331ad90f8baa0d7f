"""Thousands of hostile requests: no response is a 5xx, no process crashes, memory stays bounded, and jobs continue."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from cauce.gateway.tokens import create_token
from tests.service.conftest import Case
from tests.service.hostile import Forge, Sent, Wire
from tests.service.running import Running

REQUESTS, MORE_REQUESTS = 5_000, 20_000
SENDERS = 4
GROWTH_BYTES = 400 << 20
WARM = 1_000


def send_many(
    port: int, forge: Forge, share: int, seen: Counter[tuple[str, int]], wrong: list[tuple[Sent, bytes]]
) -> None:
    wire = Wire(port)
    for _, sent in zip(range(share), forge.stream(), strict=False):
        status, head, body = wire.send(sent)
        seen[sent.kind, status] += 1
        fine = 200 <= status < 500 or (status == 0 and not sent.whole)
        if status >= 400 and sent.method != "HEAD":
            fine = fine and b"application/problem+json" in head
        if sent.kind == "other":
            fine = status in (404, 405)
        if sent.kind == "token":
            fine = status in (400, 401)
        if b"root:" in body or not fine:
            wrong.append((sent, head + b"\r\n\r\n" + body))
    wire.close()


@pytest.mark.parametrize(
    "requests",
    [pytest.param(REQUESTS, marks=pytest.mark.slow), pytest.param(MORE_REQUESTS, marks=pytest.mark.soak)],
)
def test_hostile_requests_do_no_harm(requests: int, tmp_path: Path, case: Case) -> None:
    tokens = tmp_path / "service" / "tokens.json"
    mine, theirs = create_token(tokens, "mine"), create_token(tokens, "theirs")
    with Running(tmp_path, "serve", "--workers", "1", "--gateways", "1", token=mine) as service:
        jobs = [f"job-{number}" for number in range(4)]
        for job in [*jobs, "good"]:
            assert service.create(job, queries=["q1"]).status == 201
        service.token = theirs
        for number in range(3):
            assert service.create(f"secret-{number}", queries=["q1"]).status == 201
        service.token = mine
        others = [f"secret-{number}" for number in range(3)]
        processes = {name: service.children(name) for name in ("cauce gateway", "cauce worker")}
        seen: Counter[tuple[str, int]] = Counter()
        wrong: list[tuple[Sent, bytes]] = []

        def attack(number_of_requests: int, seed: int) -> None:
            senders = [
                threading.Thread(
                    target=send_many,
                    args=(
                        service.port,
                        Forge(seed + number, jobs, others, mine),
                        number_of_requests // SENDERS,
                        seen,
                        wrong,
                    ),
                )
                for number in range(SENDERS)
            ]
            for sender in senders:
                sender.start()
            for sender in senders:
                sender.join()

        attack(WARM, 1)
        before = service.rss()
        started = time.monotonic()
        attack(requests, 100)
        took = time.monotonic() - started
        growth = service.rss() - before
        sys.stdout.write(f"{seen.total()} requests, the last {requests} in {took:.0f} s; memory {growth >> 20:+} MiB\n")
        sys.stdout.write("".join(f"{kind} {status}: {count}\n" for (kind, status), count in sorted(seen.items())))
        assert not wrong, [(sent.kind, sent.data[:300], answer[:600]) for sent, answer in wrong[:5]]
        assert seen.total() == WARM + requests
        assert {kind for kind, _ in seen} >= {"path", "name", "json", "part", "mutant", "token", "other", "garbage"}
        assert growth < GROWTH_BYTES
        assert {name: service.children(name) for name in processes} == processes, service.log_text()[-2000:]
        service.upload("good", [piece for piece in case.pieces if piece.table == "books"])
        service.wait_done("good")
        assert service.get("/v1/jobs/good/results/q1").body == case.wanted["q1"]
        assert service.get("/v1/jobs").status == 200
    assert service.process.returncode == 0
    assert not service.events("internal error")
