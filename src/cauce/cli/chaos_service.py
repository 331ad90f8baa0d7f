"""`cauce chaos service`: a service of its own, with clients, under faults of all kinds; and what came of it."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

from cauce.broker.nodes import Nodes, existing
from cauce.chaos.service import KINDS, NODE, Clients, Faults, Tally, running, wait_until_all_run
from cauce.cli.demo import answer_all
from cauce.cli.demo_service import show
from cauce.cli.invocation import command
from cauce.cli.output import console
from cauce.client import Service, Settings
from cauce.doctor.home import Home
from cauce.errors import JobFailed, UsageError

ENDED = ("done", "cancelled")
FINISH_S = 180.0
END_S, LOOK_AGAIN_S = 30.0, 0.5
PART_BYTES = 2**16
ALL_RUN_S = 90.0
"""Longer than the longest pause before a restart."""


def play_service(
    out: Path,
    for_s: float,
    clients: int,
    every_s: float,
    seed: int,
    scale: float,
    broker: Path | None,
    fabric: str,
) -> None:
    nodes = _nodes(broker)
    if nodes is not None and fabric:
        raise UsageError("--broker and --fabric exclude each other: private nodes have an address of their own")
    address = f"{nodes.address}?namespace=chaos-{int(time.time())}" if nodes is not None else fabric
    answer_all(out, scale, seed)
    tally = Tally(show)
    home = Home(out / "service")
    kinds = [*KINDS, (NODE, 2)] if nodes is not None else list(KINDS)
    with running(home.folder, ["--port", "0", *(["--fabric", address] if address else [])]) as url:
        crowd = Clients(url, out / "data", out / "answers", tally, Settings(part_bytes=PART_BYTES))
        crowd.start(clients)
        faults = Faults(home, tally, every_s, random.Random(seed), kinds, nodes)
        faults.play(threading.Event(), time.monotonic() + for_s)
        for wrong in wait_until_all_run(home, ALL_RUN_S):
            tally.complain(f"at the end {wrong}")
        crowd.finish(FINISH_S)
        _look_at_jobs(url, tally)
    _conclude(tally)


def _nodes(broker: Path | None) -> Nodes | None:
    if broker is None:
        return None
    nodes = existing(broker)
    if nodes is None:
        raise UsageError(
            f"no nodes in {broker}; start some with: {command('broker', 'start', '--dir', str(broker), '--nodes', '3')}"
        )
    nodes.start()
    return nodes


def _look_at_jobs(url: str, tally: Tally) -> None:
    """All must have ended. A gateway may learn of an end a moment after another one has told it."""
    with Service(url, on_connection=None) as service:
        due = time.monotonic() + END_S
        while open_jobs := [job for job in service.jobs() if job.state not in ENDED]:
            if time.monotonic() > due:
                for job in open_jobs:
                    tally.complain(f"job {job.job} is {job.state}")
                return
            time.sleep(LOOK_AGAIN_S)


def _conclude(tally: Tally) -> None:
    kinds = ", ".join(f"{number} x {kind}" for kind, number in tally.faults.most_common())
    roles = ", ".join(f"{number} of {role}s" for role, number in tally.hit.most_common())
    console().print(f"{tally.faults.total()} faults ({kinds}) hit {tally.hit.total()} processes ({roles})")
    again = f", {tally.returns} retries of clients" if tally.returns else ""
    console().print(f"{tally.jobs} jobs, {tally.answers} answers{again}", soft_wrap=True)
    if not tally.faults or not tally.jobs:
        raise JobFailed("no fault happened, or no job ended; use more --minutes")
    if tally.problems:
        raise JobFailed(f"{len(tally.problems)} problems, the first: {tally.problems[0]}")
    console().print("Every job ended, and every answer is correct, byte for byte.")
