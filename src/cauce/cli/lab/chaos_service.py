"""`cauce chaos service`: starts a service with clients, injects faults of all kinds, and checks every answer."""

from __future__ import annotations

import os
import random
import threading
import time

from cauce.cli.lab.broker import nodes_in
from cauce.cli.lab.chaos import ServiceChaosOptions
from cauce.cli.lab.demo import answer_all
from cauce.cli.lab.demo_service import show
from cauce.cli.options import FABRIC
from cauce.client import Service, Settings
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.errors import JobFailed, UsageError
from cauce.lab.chaos.service import KINDS, NODE, Clients, Faults, Tally, running, wait_until_all_run
from cauce.terminal.console import console

ENDED = ("done", "cancelled")
FINISH_S = 180.0
END_S, LOOK_AGAIN_S = 30.0, 0.5
PART_BYTES = 2**16
ALL_RUN_S = 90.0
"""Longer than the longest restart backoff."""


def play_service(options: ServiceChaosOptions, every_s: float) -> None:
    out = options.out
    nodes = nodes_in(options.broker, "--nodes", "3") if options.broker is not None else None
    if nodes is not None and options.fabric:
        raise UsageError("--broker and --fabric are mutually exclusive: private nodes have their own address; omit one")
    address = f"{nodes.address}?namespace=chaos-{int(time.time())}" if nodes is not None else options.fabric
    if nodes is not None:
        nodes.start()
    answer_all(out, options.scale, options.seed)
    tally = Tally(show)
    home = ServiceDir(out / "service")
    kinds = [*KINDS, (NODE, 2)] if nodes is not None else list(KINDS)
    if address:
        # Passed to the service by environment: every user of this machine can see arguments.
        os.environ[FABRIC] = address
    with running(home.folder, ["--port", "0"]) as url:
        load = Clients(url, out / "data", out / "answers", tally, Settings(part_bytes=PART_BYTES))
        load.start(options.clients)
        faults = Faults(home, tally, every_s, random.Random(options.seed), kinds, nodes)
        faults.play(threading.Event(), time.monotonic() + options.minutes * 60)
        for wrong in wait_until_all_run(home, ALL_RUN_S):
            tally.add_problem(f"at the end {wrong}")
        load.finish(FINISH_S)
        _check_jobs(url, tally)
    _conclude(tally)


def _check_jobs(url: str, tally: Tally) -> None:
    """Checks that all jobs have ended. Polls, because a gateway may learn of an end later than another gateway."""
    with Service(url, on_connection=None) as service:
        deadline = time.monotonic() + END_S
        while open_jobs := [job for job in service.jobs() if job.state not in ENDED]:
            if time.monotonic() > deadline:
                for job in open_jobs:
                    tally.add_problem(f"job {job.job} is {job.state}")
                return
            time.sleep(LOOK_AGAIN_S)


def _conclude(tally: Tally) -> None:
    kinds = ", ".join(f"{number} x {kind}" for kind, number in tally.faults.most_common())
    roles = ", ".join(f"{number} of {role}s" for role, number in tally.hit.most_common())
    console().print(f"{tally.faults.total()} faults ({kinds}) hit {tally.hit.total()} processes ({roles})")
    retries = f", {tally.returns} retries of clients" if tally.returns else ""
    gap = f"; the longest time without an answer was {tally.longest_gap_s:.0f} s" if tally.jobs else ""
    console().print(f"{tally.jobs} jobs, {tally.answers} answers{retries}{gap}", soft_wrap=True)
    if not tally.faults or not tally.jobs:
        raise JobFailed("no fault was injected, or no job ended; increase --minutes")
    if tally.problems:
        raise JobFailed(f"{len(tally.problems)} problems, the first: {tally.problems[0]}")
    console().print("Every job ended, and every answer is correct, byte for byte.")
