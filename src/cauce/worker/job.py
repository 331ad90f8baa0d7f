"""A job on this machine from start to end: check the data, plan, run, write the answers."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import polars as pl

from cauce.datasets import name_of
from cauce.errors import CauceError, FabricFull, JobFailed
from cauce.plan import Dataset
from cauce.plan.outputs import narrow_integers
from cauce.plan.physical import Plan
from cauce.scan.block import REJECT_SCHEMA
from cauce.scan.parts import TableFile, check_columns, check_folder, find_files
from cauce.scan.reject_summary import RejectSummary
from cauce.scan.tables import TableSpec
from cauce.wire import REJECTS, Format
from cauce.wire.formats import AnswerFile, csv_text, open_answer
from cauce.worker.answers import Answers
from cauce.worker.client import Watch
from cauce.worker.events import Event
from cauce.worker.local import LocalRun, Settings


class Silent:
    """Watches a run without saying anything."""

    def cut(self, table: str, seq: int, part_bytes: int) -> None:
        pass

    def scanned(self, table: str, seq: int, rows: int) -> None:
        pass

    def event(self, event: Event, restarts: int) -> None:
        pass

    def still(self, waits_for: str) -> None:
        pass


@dataclass(frozen=True)
class Prepared:
    """A plan and the files it will read, both checked: running it can only fail for reasons found on the way."""

    dataset: str
    parameters: Mapping[str, str]
    plan: Plan
    files: Mapping[str, list[TableFile]]

    @property
    def bytes(self) -> dict[str, int]:
        """How much there is to read of each table."""
        return {table: sum(file.bytes for file in files) for table, files in self.files.items()}


def prepare(
    dataset: Dataset,
    data: Path,
    queries: Collection[str] | None = None,
    parameters: Mapping[str, str] | None = None,
    partitions: int = 2,
) -> Prepared:
    plan = dataset.plan(queries, parameters, partitions)
    check_folder(data, f"the files of {dataset.name}")
    files: dict[str, list[TableFile]] = {}
    for spec in plan.tables:
        files[spec.name] = find_files(data, spec)
        for file in files[spec.name]:
            check_columns(file, spec, plan.used_columns(spec.name))
    return Prepared(name_of(dataset), dataset.settle(parameters), plan, files)


class Rejects:
    """Rejects as CSV text, one temporary file for each input file, so that any number of them takes no memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._spools: dict[str, IO[str]] = {}
        self.count = 0

    def add(self, frame: pl.DataFrame) -> None:
        self.count += frame.height
        for (file,), rows in frame.group_by("file", maintain_order=True):
            if file not in self._spools:
                self._spools[str(file)] = self._spool()
            self._spools[str(file)].write(csv_text(rows))

    def _spool(self) -> IO[str]:
        return tempfile.TemporaryFile("w+", dir=self._folder, encoding="utf-8", newline="")

    def write(self, path: Path) -> None:
        """One file ordered by input file; within one, rejects came in order."""
        with path.open("w", encoding="utf-8", newline="") as out:
            out.write(",".join(REJECT_SCHEMA) + "\n")
            for chunk in self._chunks():
                out.write(chunk)

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
    """A sink that writes `q1.csv` … and `rejects.csv`. Files appear under their names when they are complete."""

    def __init__(self, plan: Plan, out: Path, form: Format, keep_rows: int = 0) -> None:
        self._out = out
        self._form = form
        self._keep_rows = keep_rows
        self._results = plan.results
        self._open: dict[str, AnswerFile] = {}
        with _writing(out):
            out.mkdir(parents=True, exist_ok=True)
            for query, result in self._results.items():
                self._open[query] = open_answer(self._part(query), result.columns, form)
        self.rows: dict[str, int] = dict.fromkeys(self._results, 0)
        self.heads: dict[str, pl.DataFrame] = {}
        self.reject_spool = Rejects(out)
        self.reject_summary = RejectSummary()

    def _answer(self, query: str) -> Path:
        return self._out / f"{query}.{self._form}"

    def _part(self, query: str) -> Path:
        return self._out / f".{query}.{self._form}.part"

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
            self._part(query).replace(self._answer(query))
        self._write_rejects()

    def refuse(self) -> None:
        """Keeps the rejects and no answer, not even one of an earlier run: the rejects would not be those of it."""
        for query, answer in self._open.items():
            answer.close()
            self._part(query).unlink(missing_ok=True)
            self._answer(query).unlink(missing_ok=True)
        self._write_rejects()

    def _write_rejects(self) -> None:
        (self._out / REJECTS).unlink(missing_ok=True)
        if self.reject_spool.count:
            part = self._out / f".{REJECTS}.part"
            self.reject_spool.write(part)
            part.replace(self._out / REJECTS)
        self.reject_spool.close()

    def abandon(self) -> None:
        for query, answer in self._open.items():
            # To close a file is to write what is left of it: that may fail again, and the first cause counts.
            with suppress(OSError, ValueError):
                answer.close()
            self._part(query).unlink(missing_ok=True)
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
            f"cannot write the answers to {out}: {problem.strerror or problem}; "
            "choose a directory that can be written, with --out"
        ) from problem


def run_to_folder(
    prepared: Prepared,
    out: Path,
    form: Format = "csv",
    *,
    keep_rows: int = 0,
    settings: Settings | None = None,
    watch: Watch | None = None,
) -> Folder:
    sink = Folder(prepared.plan, out, form, keep_rows)
    try:
        LocalRun(prepared.plan, prepared.files, sink, watch or Silent(), settings).run()
    except BaseException:
        sink.abandon()
        raise
    sink.finish()
    return sink


class Memory:
    """A sink that keeps everything."""

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
