"""Prepares a local run (validates the data, builds the plan) and holds the sinks that write or keep its answers."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, BinaryIO

import polars as pl

from cauce.api.formats import REJECTS, Format
from cauce.datasets import name_of
from cauce.errors import CauceError, FabricFull, JobFailed
from cauce.job.result_formats import AnswerFile, csv_text, open_answer
from cauce.plan import Dataset
from cauce.plan.joins import large_tables
from cauce.plan.outputs import narrow_integers
from cauce.plan.physical import Plan
from cauce.runner.answers import Answers
from cauce.runner.in_process import LocalRun, Settings
from cauce.runner.local_client import TableInput, Watch
from cauce.runner.output_dir import NewFile, new_file, remove_unfinished
from cauce.scan.block import REJECT_SCHEMA
from cauce.scan.discovery import check_folder
from cauce.scan.parts import TableFile
from cauce.scan.reader import check_columns
from cauce.scan.reject_summary import RejectSummary
from cauce.scan.tables import TableSpec
from cauce.sql_frontend.source import SqlSource
from cauce.worker.events import Event


class Silent:
    """A watch that reports nothing."""

    def cut(self, table: str, seq: int, part_bytes: int) -> None:
        pass

    def scanned(self, table: str, seq: int, rows: int) -> None:
        pass

    def event(self, event: Event, restarts: int) -> None:
        pass

    def still(self, missing_input: str) -> None:
        pass


@dataclass(frozen=True)
class Prepared:
    """A validated plan and the files it will read."""

    source: str
    """Argument for `load` that yields the dataset in another process of this machine."""
    parameters: Mapping[str, str]
    plan: Plan
    files: Mapping[str, list[TableFile]]
    large: tuple[str, ...] = ()
    """Tables that are not broadcast."""
    sql: SqlSource | None = None
    """Set if the queries are statements of the user, from which workers build the plan."""

    @property
    def bytes(self) -> dict[str, int]:
        """Input bytes of each table."""
        return {table: sum(file.bytes for file in files) for table, files in self.files.items()}

    @property
    def inputs(self) -> dict[str, TableInput]:
        """The input of each table, for people who watch the run."""
        shown = {spec.name: spec.shown for spec in self.plan.tables}
        return {table: TableInput(shown[table], size) for table, size in self.bytes.items()}


def prepare(
    dataset: Dataset,
    data: Path,
    queries: Collection[str] | None = None,
    parameters: Mapping[str, str] | None = None,
    partitions: int = 2,
    broadcast_bytes: int = 0,
    *,
    isolate: bool = True,
) -> Prepared:
    """`broadcast_bytes` is the memory that a worker has for broadcast sides; 0: no limit. `isolate` is that of
    `Dataset.plan`: without it, this process must not be forked afterwards."""
    plan = dataset.plan(queries, parameters, partitions, isolate=isolate)
    check_folder(data, f"the files of {dataset.name}")
    files: dict[str, list[TableFile]] = {}
    for spec in plan.tables:
        files[spec.name] = dataset.find_files(data, spec)
        for file in files[spec.name]:
            check_columns(file, spec, plan.used_columns(spec.name))
    prepared = Prepared(name_of(dataset), dataset.parameter_values(parameters), plan, files)
    large = large_tables(prepared.bytes, broadcast_bytes)
    if not large:
        return prepared
    return replace(prepared, plan=dataset.plan(queries, parameters, partitions, large, isolate=isolate), large=large)


class Rejects:
    """Spools rejects as CSV, one temporary file per input file, so that memory does not grow with their number."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._spools: dict[str, IO[str]] = {}
        self.count = 0

    def add(self, frame: pl.DataFrame) -> None:
        if frame.is_empty():
            return
        self.count += frame.height
        for (file,), rows in frame.group_by("file", maintain_order=True):
            if file not in self._spools:
                self._spools[str(file)] = self._spool()
            self._spools[str(file)].write(csv_text(rows))

    def _spool(self) -> IO[str]:
        return tempfile.TemporaryFile("w+", dir=self._folder, encoding="utf-8", newline="")

    def write(self, out: BinaryIO) -> None:
        """Writes one file, ordered by input file and by position in it."""
        out.write((",".join(REJECT_SCHEMA) + "\n").encode())
        for chunk in self._chunks():
            out.write(chunk.encode())

    def _chunks(self) -> Iterator[str]:
        for file in sorted(self._spools):
            spool = self._spools[file]
            spool.seek(0)
            while chunk := spool.read(2**20):
                yield chunk

    def close(self) -> None:
        for spool in self._spools.values():
            spool.close()


class Folder:
    """A sink that writes `q1.csv` … and `rejects.csv`. Files get their names when they are complete. The caller must
    hold the lock of the directory, or be its only user."""

    def __init__(self, plan: Plan, out: Path, form: Format, keep_rows: int = 0) -> None:
        self._out = out
        self._form = form
        self._keep_rows = keep_rows
        self._results = plan.results
        self._files: dict[str, NewFile] = {}
        self._open: dict[str, AnswerFile] = {}
        with _writing(out):
            out.mkdir(parents=True, exist_ok=True)
            for query, result in self._results.items():
                remove_unfinished(self._answer(query))
                self._files[query] = NewFile(self._answer(query))
                self._open[query] = open_answer(self._files[query].file, result.columns, form)
        self.rows: dict[str, int] = dict.fromkeys(self._results, 0)
        self.heads: dict[str, pl.DataFrame] = {}
        self.reject_spool = Rejects(out)
        self.reject_summary = RejectSummary()

    def _answer(self, query: str) -> Path:
        return self._out / f"{query}.{self._form}"

    def page(self, query: str, frame: pl.DataFrame) -> None:
        with _writing(self._out):
            self._open[query].page(frame)
        self.rows[query] += frame.height
        head = self.heads.get(query)
        if head is None:
            self.heads[query] = frame.head(self._keep_rows)
        elif head.height < self._keep_rows:
            self.heads[query] = pl.concat([head, frame]).head(self._keep_rows)

    def rejects(self, table: TableSpec, rows: int, frame: pl.DataFrame) -> None:
        with _writing(self._out):
            self.reject_spool.add(frame)
        self.reject_summary.add(table, rows, frame)

    def finish(self) -> None:
        try:
            with _writing(self._out):
                self._finish()
        except CauceError:
            self.abandon()
            raise

    def _finish(self) -> None:
        for query, answer in self._open.items():
            answer.close()
            self._files[query].finish()
        self._write_rejects()

    def refuse(self) -> None:
        """Writes the rejects and deletes all answers, also those of an earlier run, which had other rejects."""
        for query, answer in self._open.items():
            answer.close()
            self._files[query].abandon()
            self._answer(query).unlink(missing_ok=True)
        self._write_rejects()

    def _write_rejects(self) -> None:
        (self._out / REJECTS).unlink(missing_ok=True)
        if self.reject_spool.count:
            with new_file(self._out / REJECTS) as into:
                self.reject_spool.write(into)
        self.reject_spool.close()

    def abandon(self) -> None:
        for query, answer in self._open.items():
            # Closing flushes, which may fail again; the first error is the one to report.
            with suppress(OSError, ValueError):
                answer.close()
            self._files[query].abandon()
        with suppress(OSError):
            self.reject_spool.close()


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FabricFull(
                f"no space left for the answers in {out}; free some space there, then run the same command again: "
                "it continues where it stopped"
            ) from problem
        raise JobFailed(
            f"cannot write the answers to {out}: {problem.strerror or problem}; choose a writable directory with --out"
        ) from problem


class Memory:
    """A sink that keeps everything in memory."""

    def __init__(self) -> None:
        self._pages: dict[str, list[pl.DataFrame]] = {}
        self._rejects: list[pl.DataFrame] = []
        self._summary = RejectSummary()

    def page(self, query: str, frame: pl.DataFrame) -> None:
        self._pages.setdefault(query, []).append(frame)

    def rejects(self, table: TableSpec, rows: int, frame: pl.DataFrame) -> None:
        self._rejects.append(frame)
        self._summary.add(table, rows, frame)

    def answers(self, plan: Plan) -> Answers:
        frames = {query: narrow_integers(pl.concat(self._pages[query])) for query in plan.results}
        rejects = pl.concat(self._rejects).sort("file", "line", "column", nulls_last=True) if self._rejects else None
        return Answers(frames, rejects, summary=self._summary)


def run_in_memory(prepared: Prepared, settings: Settings | None = None, watch: Watch | None = None) -> Answers:
    sink = Memory()
    LocalRun(prepared.plan, prepared.files, sink, watch or Silent(), settings).run()
    return sink.answers(prepared.plan)
