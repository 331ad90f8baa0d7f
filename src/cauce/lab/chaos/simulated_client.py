"""A simulated client of a service: sends requests to any gateway until they are answered, and checks every answer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Protocol, TypeVar

import polars as pl

from cauce.api.jobs import ENDED, JobRequest, JobStatus, State
from cauce.gateway.errors import NoSuchJob, PartDiffers, ServiceError, TooEarly
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.model import PartBody, RejectPage, ResultPage
from cauce.job.result_formats import csv_text
from cauce.lab.chaos.simulate import (
    Case,
)
from cauce.lab.chaos.simulated_service import (
    GIVE_UP,
    JOB,
    OWNER,
    NoAnswer,
    SimulatedGateway,
    SimulatedRequest,
    SimulatedService,
    Violation,
)
from cauce.scan.parts import Part

T = TypeVar("T")


Script = Generator[None, None, T]


class ReadPage(Protocol):
    def __call__(self, jobs: Jobs, cursor: str | None) -> ResultPage | RejectPage: ...


class SimulatedClient:
    """A client of the service: asks one gateway after the other, and checks every answer."""

    def __init__(self, service: SimulatedService, chosen: Case) -> None:
        self._service = service
        self._rng = service.rng
        self._case = chosen
        self._acknowledged: dict[str, set[int]] = {table: set() for table in chosen.parts}

    def ask(self, call: Callable[[Jobs], T], gateways: Sequence[SimulatedGateway] = ()) -> Script[T]:
        """Sends a request to any free gateway, or to one of these, again and again, until it is answered."""
        while True:
            yield
            free = [gateway for gateway in gateways or self._service.gateways if not gateway.busy]
            if not free:
                continue
            request = SimulatedRequest(call)
            self._rng.choice(free).accept(request)  # type: ignore[arg-type]
            while not request.done and self._rng.random() >= GIVE_UP:
                yield
            if request.done and not isinstance(request.problem, NoAnswer):
                return request.answer()

    def create(self) -> Script[None]:
        request = JobRequest(self._case.dataset, list(self._case.queries), {})
        yield from self.ask(lambda jobs: jobs.create(OWNER, JOB, request))

    def upload(self) -> Script[None]:
        parts = [(table, part) for table, parts in self._case.parts.items() for part in parts]
        self._rng.shuffle(parts)
        parts += self._rng.sample(parts, min(len(parts), self._rng.randrange(3)))
        for table, part in parts:
            yield from self._send(table, part)
            if self._rng.random() < 0.2:
                yield from self._check_held(table)
            if {each.seq for each in self._case.parts[table]} == self._acknowledged[table]:
                yield from self._complete(table)

    def _send(self, table: str, part: Part) -> Script[None]:
        body = PartBody(part.data or b"", "csv", "", part.file.name, part.first_line, part.header)
        yield from self.ask(lambda jobs: jobs.uploads.put_part(OWNER, JOB, table, part.seq, body))
        self._acknowledged[table].add(part.seq)

    def send_rival(self, table: str, part: Part, data: bytes) -> Script[None]:
        """Sends a part until it is acknowledged or refused because of another content."""
        body = PartBody(data, "csv", "", part.file.name, part.first_line, part.header)
        try:
            yield from self.ask(lambda jobs: jobs.uploads.put_part(OWNER, JOB, table, part.seq, body))
            self._acknowledged[table].add(part.seq)
        except PartDiffers:
            return

    @property
    def acknowledged(self) -> bool:
        return any(self._acknowledged.values())

    def _check_held(self, table: str) -> Script[None]:
        known = set(self._acknowledged[table])
        held = yield from self.ask(lambda jobs: jobs.uploads.held(OWNER, JOB, table))
        stored = {seq for first, last in held.ranges for seq in range(first, last + 1)}
        if not known <= stored:
            raise Violation(f"acknowledged parts of {table} are not known any more: {sorted(known - stored)}")

    def _complete(self, table: str) -> Script[None]:
        count = len(self._case.parts[table])
        yield from self.ask(lambda jobs: jobs.uploads.complete(OWNER, JOB, table, count))

    def wait(self) -> Script[None]:
        """Until the job is done, as any gateway sees it. No status is older than the one before."""
        shown: list[int] = []
        while True:
            status = yield from self.ask(lambda jobs: jobs.status(OWNER, JOB))
            before, shown = shown, _progress(status)
            if any(now < then for now, then in zip(shown, before, strict=False)):
                raise Violation(f"a gateway shows an older status than another one before: {shown}, after {before}")
            if status.state == "done":
                return
            if status.state in ENDED or status.state == "damaged":
                raise Violation(f"the job is {status.state}: {status.cause}")

    def answers(self) -> Script[dict[str, str]]:
        texts: dict[str, str] = {}
        for query in self._case.queries:
            columns = self._case.plan.results[query].columns
            texts[query] = csv_text((yield from self._pages(partial(_result, query=query))), columns)
        rejects = yield from self._pages(_rejects)
        return texts | {"rejects": csv_text(rejects.sort(pl.all()))}

    def _pages(self, read: ReadPage) -> Script[pl.DataFrame]:
        """All rows, page by page, each from any gateway."""
        pages: list[pl.DataFrame] = []
        cursor: str | None = None
        while True:
            page = yield from self.ask(partial(read, cursor=cursor))
            pages.append(page.rows)
            cursor = page.next
            if cursor is None:
                return pl.concat(pages)

    def cancel(self) -> Script[None]:
        yield from self.ask(lambda jobs: jobs.cancel(OWNER, JOB))
        yield from self.check_ended("cancelled")

    def check_ended(self, wanted: State) -> Script[None]:
        """No gateway accepts a part of the job, and all show how it ended."""
        for gateway in self._service.gateways:
            state = (yield from self.ask(lambda jobs: jobs.status(OWNER, JOB), [gateway])).state
            if state != wanted:
                raise Violation(f"the job was {wanted}, and {state} is shown now")
            yield from self._check_refused(wanted)

    def _check_refused(self, wanted: State) -> Script[None]:
        table, parts = next(iter(self._case.parts.items()))
        body = PartBody(parts[0].data or b"", "csv", "", "late", 0, parts[0].header)
        try:
            yield from self.ask(lambda jobs: jobs.uploads.put_part(OWNER, JOB, table, parts[0].seq, body))
        except ServiceError as problem:
            if isinstance(problem, NoSuchJob | TooEarly):
                raise Violation(f"the job was {wanted}, and a part is refused with: {problem}") from problem
            return
        raise Violation(f"the job was {wanted}, and a part of it was accepted")


def _progress(status: JobStatus) -> list[int]:
    """Numbers of a status that never decrease."""
    tables = [number for each in status.tables.values() for number in (each.parts, each.parts_read, each.rows)]
    return tables + [each.pages for each in status.answers.values()]


def _result(jobs: Jobs, cursor: str | None, query: str) -> ResultPage:
    return jobs.result(OWNER, JOB, query, cursor, 7)


def _rejects(jobs: Jobs, cursor: str | None) -> RejectPage:
    return jobs.rejects(OWNER, JOB, cursor, 10)
