"""Whole services under simulated faults: the real job service of two gateways, and workers, on the memory fabric.

A seed decides everything, as in `simulate`. Requests interleave at every step on the fabric: a request runs in its own
thread, one thread at a time, and passes control on where the seed says so. A client sends parts in any order, some
twice, to any gateway; it gives requests up and sends them again. Gateways and workers crash at any step.

Checked: an acknowledged job or part is known to every gateway from then on; the answers are those of a run without
faults, whichever gateway is asked; a cancelled or expired job stays so; nothing of it remains.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from cauce.errors import CauceError
from cauce.fabric.memory import Store
from cauce.fabric.names import job_name
from cauce.job.topology import Topology
from cauce.lab.chaos.simulate import (
    PIECES,
    WORLDS,
    Chances,
    CrashAt,
    ScheduleResult,
    case,
    expected,
    named,
)
from cauce.lab.chaos.simulated_client import Script, SimulatedClient
from cauce.lab.chaos.simulated_jobs import JOBS
from cauce.lab.chaos.simulated_service import (
    JOB,
    LIMITS,
    MOST_TURNS,
    OWNER,
    SimulatedService,
    Violation,
)

Ending = Literal["answers", "cancel", "expiry"]
"""How the client's work ends: it reads the answers, cancels the job, or goes away in the middle of the upload."""
ENDINGS: tuple[Ending, ...] = ("answers", "cancel", "expiry")


def simulate_service(seed: int, chances: Chances | None = None) -> ScheduleResult:
    """One schedule. The same seed gives the same run, to the last fault."""
    rng = random.Random(seed)
    dataset, queries = JOBS[seed % len(JOBS)]
    world_seed, pieces, workers = rng.randrange(WORLDS), rng.choice(PIECES), rng.randrange(1, 3)
    ending: Ending = rng.choices(ENDINGS, (6, 3, 1))[0]
    outcome = ScheduleResult(seed, f"service: {named(dataset, queries)}, {workers} workers, {pieces} parts, {ending}")
    wanted = expected(dataset, queries, world_seed)
    chosen = case(dataset, queries, world_seed, pieces)
    # Without space for its tombstone, a deleted job leaves no trace: only the other schedules fill the disk.
    chances = chances or Chances(full=0.003 if ending == "answers" else 0.0)
    service = SimulatedService(rng, chances, outcome.faults, workers)
    try:
        outcome.turns = _play(service, SimulatedClient(service, chosen), ending, wanted)
    except CauceError as problem:
        outcome.problem = f"{type(problem).__name__}: {problem}"
    finally:
        service.stop()
    return outcome


def simulate_rivals(seed: int) -> ScheduleResult:
    """Two clients send different contents for the same part at the same time. At most one is acknowledged, and the lane
    never holds both."""
    rng = random.Random(seed)
    outcome = ScheduleResult(seed, "rivals")
    service = SimulatedService(rng, Chances(), outcome.faults, workers=1)
    chosen = case(*RIVAL_CASE)
    table, (part, *_) = next(iter(chosen.parts.items()))
    rivals = [SimulatedClient(service, chosen) for _ in range(2)]
    contents = [part.data or b"", (part.data or b"") * 2]
    try:
        _run(service, rivals[0].create())
        sent = [rival.send_rival(table, part, data) for rival, data in zip(rivals, contents, strict=True)]
        outcome.turns = _run(service, _interleaved(sent, rng))
        if all(rival.acknowledged for rival in rivals):
            raise Violation("two contents of one part were acknowledged")
        _check_lanes(service.store, Topology(chosen.plan, LIMITS.lanes))
    except CauceError as problem:
        outcome.problem = f"{type(problem).__name__}: {problem}"
    finally:
        service.stop()
    return outcome


RIVAL_CASE = ("movies", ("q1",), 0, 1)


def _interleaved(scripts: Sequence[Script[None]], rng: random.Random) -> Script[None]:
    """Runs scripts in turns that the seed chooses."""
    left = list(scripts)
    while left:
        script = rng.choice(left)
        try:
            next(script)
            yield
        except StopIteration:
            left.remove(script)


def _check_lanes(store: Store, topology: Topology) -> None:
    logs = store.jobs[job_name(OWNER, JOB)].logs
    for log in topology.raw_logs():
        digests: dict[int, set[int]] = {}
        for each in (record for records in logs.get(log, {}).values() for record in records):
            digests.setdefault(each.seq, set()).add(each.digest)
        if any(len(found) > 1 for found in digests.values()):
            raise Violation(f"{log} holds two contents of one part")


def simulate_service_crash_at(dataset: str, query: str, number: int, ending: Ending) -> tuple[ScheduleResult, str]:
    """A schedule with one fault: the gateway that runs the durable step of this number crashes there. Also returns that
    step; an empty text if the run has fewer steps."""
    outcome = ScheduleResult(number, f"service: {dataset}.{query}, {ending}")
    crash_at = CrashAt(number)
    service = SimulatedService(random.Random(0), Chances(most=0, repeat=0), outcome.faults, workers=1)
    for gateway in service.gateways:
        gateway.arm(crash_at)
    try:
        chosen = case(dataset, (query,), 0, 2)
        outcome.turns = _play(service, SimulatedClient(service, chosen), ending, expected(dataset, (query,), 0))
    except CauceError as problem:
        outcome.problem = f"{type(problem).__name__}: {problem}"
    finally:
        service.stop()
    return outcome, crash_at.where


def _play(service: SimulatedService, client: SimulatedClient, ending: Ending, wanted: dict[str, str]) -> int:
    turns = _run(service, _script(client, ending, wanted, service.rng))
    # Nobody asks any more: the job expires, and everything it held is released.
    name = job_name(OWNER, JOB)
    service.settle(lambda: name not in service.store.jobs, "the job is deleted", step_s=5.0)
    service.settle(lambda: service.leases == 0, "all leases of the deleted job are released")
    if ending != "cancel":
        turns += _run(service, client.check_ended("expired"))
    return turns


def _run(service: SimulatedService, script: Script[None]) -> int:
    """Lets the client and the service run in turns. Returns the number of turns."""
    turns = 0
    for _ in script:
        turns += 1
        if turns > MOST_TURNS:
            raise Violation(f"the client hangs after {MOST_TURNS} turns")
        for _ in range(2):
            service.turn()
    return turns


def _script(client: SimulatedClient, ending: Ending, wanted: dict[str, str], rng: random.Random) -> Script[None]:
    yield from client.create()
    if ending != "answers":
        # The client goes away in the middle of the upload.
        for _, _ in zip(client.upload(), range(rng.randrange(100)), strict=False):
            yield
        if ending == "cancel":
            yield from client.cancel()
        return
    yield from client.upload()
    yield from client.wait()
    for _ in range(2):
        answers = yield from client.answers()
        if answers != wanted:
            wrong = [name for name, text in wanted.items() if answers[name] != text]
            raise Violation(f"wrong answers: {', '.join(wrong)}")
