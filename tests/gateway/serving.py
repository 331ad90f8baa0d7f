"""A service in one process: gateways as plain objects, workers that are stepped, on either fabric."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from cauce.api.jobs import ENDED, JobRequest, JobStatus
from cauce.datasets import load
from cauce.datasets.registry import Registry
from cauce.doctor.supervision.events import EventLog
from cauce.fabric.contract import Fabric
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.memory import MemoryFabric, Store
from cauce.gateway.jobs.idleness import Idleness
from cauce.gateway.jobs.job_context import SharedState
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.kept.dataset_jobs import KeptJobs
from cauce.gateway.kept.dataset_service import KeptDatasets
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import PartBody
from cauce.gateway.service import Service
from cauce.job.result_formats import csv_text
from cauce.runner.sinks import prepare
from cauce.scan.parts import TableFile
from cauce.scan.reader import parts_of
from cauce.worker.job_table import Host
from cauce.worker.loop import Worker

OWNER = "local"
JOB = "job-1"
MOST_STEPS = 50_000


@dataclass
class Clock:
    """A clock that tests advance. A jump changes only the wall clock."""

    now: float = 1_800_000_000.0
    jumped: float = 0.0

    def __call__(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now - self.jumped

    def jump(self, seconds: float) -> None:
        self.now += seconds
        self.jumped += seconds


class World:
    """Processes that share durable storage: `new_fabric` opens it for each of them."""

    def __init__(self, new_fabric: Callable[[], Fabric], root: Path | None = None) -> None:
        self._new_fabric = new_fabric
        self._fabrics: list[Fabric] = []
        self.root = root
        self.clock = Clock()
        self.limits = ServiceLimits(lanes=2)
        self.events: list[tuple[str, str]] = []
        self.datasets = Registry()

    def fabric(self) -> Fabric:
        self._fabrics.append(self._new_fabric())
        return self._fabrics[-1]

    def gateway(self, fabric: Fabric | None = None, **limits: object) -> Jobs:
        return Jobs(
            fabric or self.fabric(),
            replace(self.limits, **limits),  # type: ignore[arg-type]
            self.clock,
            notify=lambda event, status: self.events.append((event, status.job)),
            datasets=self.datasets,
            shared=SharedState(idleness=Idleness(self.clock, self.clock.monotonic)),
        )

    def service(self, fabric: Fabric | None = None, **limits: object) -> Service:
        """A gateway with jobs and kept datasets."""
        fabric = fabric or self.fabric()
        jobs = self.gateway(fabric, **limits)
        given = replace(self.limits, **limits)  # type: ignore[arg-type]
        kept = KeptDatasets(fabric, given, jobs, self.datasets, Idleness(self.clock, self.clock.monotonic), self.clock)
        return Service(None, fabric, jobs, kept, KeptJobs(given, jobs, kept, self.datasets), EventLog(fabric))

    def worker(self) -> Worker:
        return Worker(self.fabric(), host=Host(datasets=self.datasets))

    def left(self) -> list[str]:
        """All that is stored of any job, on the fabric or (for files) in its folder."""
        if self.root is None:
            return self.fabric().jobs()
        return [str(path.relative_to(self.root)) for path in self.root.glob("jobs/*.*")] + [
            str(path.relative_to(self.root)) for path in self.root.glob("trash/*")
        ]

    def close(self) -> None:
        for fabric in self._fabrics:
            fabric.close()


def memory_world(folder: Path) -> World:
    store = Store()
    return World(lambda: MemoryFabric(store))


def files_world(folder: Path) -> World:
    return World(lambda: FilesFabric(folder), folder)


WORLDS = {"memory": memory_world, "files": files_world}


@dataclass(frozen=True)
class Sent:
    """The upload of a dataset: the bodies of every table, by number."""

    dataset: str
    queries: list[str]
    tables: Mapping[str, list[PartBody]]
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def request(self) -> JobRequest:
        return JobRequest(self.dataset, self.queries, self.parameters)

    def each(self) -> list[tuple[str, int, PartBody]]:
        return [(table, seq, body) for table, bodies in self.tables.items() for seq, body in enumerate(bodies)]


Convert = Callable[[PartBody, str], PartBody]


def as_csv(body: PartBody, delimiter: str) -> PartBody:
    return body


def cut(
    dataset: str, data: Path, part_bytes: int, convert: Convert = as_csv, queries: Iterable[str] | None = None
) -> Sent:
    """The files of a folder as the client splits them, converted from CSV by `convert`."""
    chosen = load(dataset)
    prepared = prepare(chosen, data, list(queries) if queries is not None else None)
    tables: dict[str, list[PartBody]] = {}
    for spec in prepared.plan.tables:
        bodies = []
        for part in parts_of(prepared.files[spec.name], spec, part_bytes):
            body = PartBody(
                _bytes(part.file, part.start, part.end), "csv", "", part.file.name, part.first_line, part.header
            )
            bodies.append(convert(body, spec.delimiter))
        tables[spec.name] = bodies
    return Sent(dataset, list(prepared.plan.results), tables)


def _bytes(file: TableFile, start: int, end: int) -> bytes:
    with open(file.path, "rb") as opened:
        opened.seek(start)
        return opened.read(end - start)


def with_header(body: PartBody, delimiter: str) -> PartBody:
    """The header's cells as the first line of the body."""
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerow(body.columns or ())
    return replace(body, data=out.getvalue().encode() + body.data, columns=None)


def gzipped(body: PartBody, delimiter: str) -> PartBody:
    half = len(body.data) // 2
    return replace(body, data=gzip.compress(body.data[:half]) + gzip.compress(body.data[half:]), compression="gzip")


def zstd(data: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    packed: bytes = out.getvalue().to_pybytes()
    return packed


def zstandard(body: PartBody, delimiter: str) -> PartBody:
    return replace(with_header(body, delimiter), data=zstd(with_header(body, delimiter).data), compression="zstd")


def rows_of(body: PartBody, delimiter: str) -> list[dict[str, str]]:
    text = body.data.decode()
    assert body.columns is not None
    return [
        dict(zip(body.columns, row, strict=True))
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        if row
    ]


def table_of(body: PartBody, delimiter: str) -> pa.Table:
    assert body.columns is not None
    rows = rows_of(body, delimiter)
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in body.columns})


def ipc(table: pa.Table, **options: object) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return out.getvalue()


def parquet(table: pa.Table, **options: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def as_arrow(body: PartBody, delimiter: str) -> PartBody:
    return replace(body, data=ipc(table_of(body, delimiter), compression="zstd"), form="arrow", columns=None)


def as_parquet(body: PartBody, delimiter: str) -> PartBody:
    return replace(body, data=parquet(table_of(body, delimiter), row_group_size=3), form="parquet", columns=None)


def as_ndjson(body: PartBody, delimiter: str) -> PartBody:
    lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows_of(body, delimiter))
    return replace(body, data=lines, form="ndjson", columns=None)


def as_ndjson_zstd(body: PartBody, delimiter: str) -> PartBody:
    plain = as_ndjson(body, delimiter)
    return replace(plain, data=zstd(plain.data), compression="zstd")


def send(jobs: Jobs, sent: Sent, job: str = JOB, owner: str = OWNER) -> None:
    """Creates the job, sends all its parts and completes its tables."""
    jobs.create(owner, job, sent.request)
    for table, seq, body in sent.each():
        jobs.uploads.put_part(owner, job, table, seq, body)
    for table, bodies in sent.tables.items():
        jobs.uploads.complete(owner, job, table, len(bodies))


def run_to_end(jobs: Jobs, worker: Worker, job: str = JOB, owner: str = OWNER) -> JobStatus:
    for step in range(MOST_STEPS):
        moved = worker.step()
        if step % 50 == 0 or not moved:
            jobs.record_end(f"{owner}.{job}")
            status = jobs.status(owner, job)
            if status.state in ENDED:
                return status
    raise AssertionError(jobs.why(owner, job))


def answers(jobs: Jobs, job: str = JOB, owner: str = OWNER) -> dict[str, bytes]:
    """The bytes of every result file, by name without extension."""
    found: dict[str, bytes] = {}
    for query in jobs.status(owner, job).queries:
        answer = jobs.answer(owner, job, query)
        text = ",".join(answer.columns) + "\n" + "".join(csv_text(page, answer.columns) for page in answer.pages)
        found[query] = text.encode()
    rejects = "".join(jobs.rejects_csv(owner, job)).encode()
    if rejects.count(b"\n") > 1:
        found["rejects"] = rejects
    return found
