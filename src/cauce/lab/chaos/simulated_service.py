"""Simulated processes of a service: gateways, whose requests interleave at every step on the fabric, and workers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, TypeVar

from cauce.api.jobs import JobRequest
from cauce.errors import CauceError, FabricError, FabricFull, FabricLost
from cauce.fabric.memory import MemoryFabric, Store
from cauce.gateway.errors import ServiceError
from cauce.gateway.jobs.idleness import Idleness
from cauce.gateway.jobs.job_context import SharedState
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.limits import ServiceLimits
from cauce.job.manifest import Manifest
from cauce.job.topology import Topology
from cauce.lab.chaos.simulate import (
    PARTITIONS,
    Chances,
    Crash,
    CrashAt,
    SimulatedFaults,
)
from cauce.lab.chaos.simulated_jobs import simulated_dataset, sql_of
from cauce.worker.loop import Worker
from cauce.worker.stepper import Stepper
from cauce.worker.tasks.limits import Limits

OWNER, JOB = "local", "job"
MOST_TURNS = 20_000
SWITCH = 0.3
"""Probability that a request passes control on at a step on the fabric."""
GIVE_UP = 0.02
"""Probability, in each turn, that the client gives up a request and sends it again."""
SWEEP = 0.05
"""Probability that an idle gateway sweeps in its turn."""
LIMITS = ServiceLimits(lanes=2, partitions=PARTITIONS, receiving_seconds=600.0, results_seconds=3_600.0)
WORKER_LIMITS = Limits(read_bytes=2_000, snapshot_bytes=1_500, page_rows=3, record_rows=5, lethal_attempts=1_000)

T = TypeVar("T")


class Violation(CauceError):
    """The service has broken a guarantee."""


class NoAnswer(Exception):
    """The gateway crashed, or asked to send the request again."""


@dataclass
class Clock:
    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class SimulatedJobs(Jobs):
    """Plans are cached for all simulated gateways: the real gateway plans in a forked process."""

    def _plan(self, request: JobRequest) -> Manifest:
        return _planned(request.dataset, tuple(request.queries or ()))


@lru_cache(maxsize=64)
def _planned(dataset_name: str, queries: tuple[str, ...]) -> Manifest:
    dataset = simulated_dataset(dataset_name)
    plan = dataset.plan(queries, None, PARTITIONS, isolate=False)
    outline = Topology(plan, LIMITS.lanes).outline()
    parameters = dataset.parameter_values({})
    return Manifest(
        "", dataset.name, queries, parameters, PARTITIONS, LIMITS.lanes, plan.digest, LIMITS.lanes,
        source=dataset.version, outline=outline, sql=sql_of(dataset_name),
    )  # fmt: skip


@dataclass
class SimulatedRequest(Generic[T]):
    """A call of a gateway's job service, and its answer once it is `done`."""

    call: Callable[[Jobs], T]
    done: bool = False
    value: T | None = None
    problem: Exception | None = None

    def answer(self) -> T:
        if self.problem is not None:
            raise self.problem
        return self.value  # type: ignore[return-value]


class GatewayFaults(SimulatedFaults):
    """Faults of a gateway. They also pass control on, so that requests interleave, and end a request with a crash."""

    def __init__(self, rng: random.Random, chances: Chances, log: list[str], who: str, stepper: Stepper) -> None:
        super().__init__(rng, chances, log, who)
        self._stepper = stepper
        self.stopped = False
        self.crash_at: CrashAt | None = None
        """Crashes at one step of all gateways together."""

    def before(self, step: str, where: str) -> None:
        if self._rng.random() < SWITCH and not self.stopped:
            self._stepper.suspend()
        if self.stopped:
            raise Crash
        super().before(step, where)
        if self.crash_at is not None:
            self.crash_at.before(step, where)

    def after(self, step: str, where: str) -> None:
        super().after(step, where)
        if self.crash_at is not None:
            self.crash_at.after(step, where)


class SimulatedGateway:
    """A simulated gateway process. It serves one request at a time; after a crash it starts again from the store."""

    def __init__(self, name: str, store: Store, clock: Clock, rng: random.Random, chances: Chances, log: list[str]):
        self._name = name
        self._store = store
        self._clock = clock
        self._rng = rng
        self._chances = chances
        self._log = log
        self._request: SimulatedRequest[object] | None = None
        self._stepper = Stepper()
        self.crash_at: CrashAt | None = None
        self._start()

    def _start(self) -> None:
        self._faults = GatewayFaults(self._rng, self._chances, self._log, self._name, self._stepper)
        self._faults.crash_at = self.crash_at
        fabric = MemoryFabric(self._store, self._faults)
        shared = SharedState(idleness=Idleness(self._clock, self._clock))
        self._jobs = SimulatedJobs(fabric, LIMITS, self._clock, shared=shared)

    def arm(self, crash_at: CrashAt) -> None:
        self.crash_at = self._faults.crash_at = crash_at

    @property
    def busy(self) -> bool:
        return self._request is not None

    def accept(self, request: SimulatedRequest[object]) -> None:
        assert not self.busy
        self._request = request

    def step(self) -> None:
        """Runs the request until it ends or passes control on."""
        request = self._request
        if request is None:
            return
        try:
            if self._stepper.suspended:
                self._stepper.resume()
            else:
                self._stepper.run(lambda: self._serve(request))
        except Crash:
            request.problem, request.done = NoAnswer(), True
            self._start()
        if request.done:
            self._request = None

    def _serve(self, request: SimulatedRequest[object]) -> bool:
        try:
            request.value = request.call(self._jobs)
        except FabricError:
            request.problem = NoAnswer()
        except ServiceError as problem:
            request.problem = NoAnswer() if problem.retry_after is not None else problem
        request.done = True
        return True

    def stop(self) -> None:
        """Ends the request with a crash, and the thread."""
        self._faults.stopped = True
        while self._stepper.suspended:
            self.step()
        self._stepper.close()


@dataclass
class SimulatedService:
    """The processes of a simulated service, which run in turns."""

    rng: random.Random
    chances: Chances
    log: list[str]
    workers: int
    store: Store = field(default_factory=Store)
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.gateways = [
            SimulatedGateway(f"gateway {number}", self.store, self.clock, self.rng, self.chances, self.log)
            for number in range(2)
        ]
        self._workers: list[tuple[MemoryFabric, Worker] | None] = [None] * self.workers

    def turn(self) -> None:
        """One step of a process that the seed chooses."""
        self.clock.now += 0.01
        number = self.rng.randrange(len(self.gateways) + len(self._workers))
        if number < len(self.gateways):
            gateway = self.gateways[number]
            if not gateway.busy and self.rng.random() < SWEEP:
                gateway.accept(SimulatedRequest(_sweep))
            gateway.step()
        else:
            self._step_worker(number - len(self.gateways))

    def _step_worker(self, number: int) -> None:
        if self._workers[number] is None:
            faults = SimulatedFaults(self.rng, self.chances, self.log, f"worker {number}")
            fabric = MemoryFabric(self.store, faults)
            self._workers[number] = fabric, Worker(fabric, WORKER_LIMITS)
        fabric, worker = self._workers[number]  # type: ignore[misc]
        try:
            worker.step()
        except (Crash, FabricFull, FabricLost):
            fabric.close()
            self._workers[number] = None

    def settle(self, is_over: Callable[[], bool], what: str, step_s: float = 0.0) -> None:
        """Gives turns without new faults until the condition holds."""
        self.chances.most = 0
        for _ in range(MOST_TURNS):
            if is_over():
                return
            self.clock.now += step_s
            self.turn()
        raise Violation(f"{what}: never, after {MOST_TURNS} more turns")

    @property
    def leases(self) -> int:
        return sum(each[1].leases for each in self._workers if each is not None)

    def stop(self) -> None:
        for gateway in self.gateways:
            gateway.stop()


def _sweep(jobs: Jobs) -> object:
    return jobs.sweep()
