"""A folder of files as the source of the tools. Each call is a process of its own, which is killed at the time limit.

Statements can read only the files of the folder.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore, Lock

from cauce.api.formats import REJECTS
from cauce.errors import CauceError, JobFailed, UnknownName, UsageError
from cauce.mcp.results import (
    Answer,
    Bounded,
    Column,
    Limits,
    NamedQuery,
    Plan,
    Reject,
    Rejects,
    Run,
    Table,
    Tables,
)
from cauce.mcp.source import Question
from cauce.process.starting import module_command

KEPT_RUNS = 16
"""The rejects of so many runs can be read later."""
CONCURRENT = 2
_LONGEST_MESSAGE = 2000


@dataclass(frozen=True)
class FolderSettings:
    data: Path
    dataset: str = ""
    """A declared dataset whose files are in the folder; empty if there is none."""
    schema: Path | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    """Types of columns, by `table.column`."""
    memory: str = ""


class FolderSource:
    def __init__(self, settings: FolderSettings) -> None:
        from cauce.scan.discovery import check_folder

        check_folder(settings.data, "the files")
        self._settings = settings
        self._work = Path(tempfile.mkdtemp(prefix="cauce-mcp-"))
        self._runs: OrderedDict[str, Path] = OrderedDict()
        self._lock = Lock()
        self._slots = BoundedSemaphore(CONCURRENT)

    def close(self) -> None:
        shutil.rmtree(self._work, ignore_errors=True)

    def tables(self) -> Tables:
        from cauce.runner.sql_source import read_schema, schema_of

        remarks: list[str] = []
        given = self._settings
        if given.schema is not None:
            schema = read_schema(given.schema)
        else:
            schema = schema_of(given.data, given.types, remarks.append)
        found = [
            Table(given.data.name, table.name, [Column(each.name, str(each.type)) for each in table.columns])
            for table in schema.tables
        ]
        return Tables(found, self._queries(), remarks)

    def _queries(self) -> list[NamedQuery]:
        if not self._settings.dataset:
            return []
        from cauce.datasets import load

        dataset = load(self._settings.dataset)
        parameters = {each.name: list(each.choices) for each in dataset.parameters}
        return [
            NamedQuery(name, query.question, list(query.columns), parameters) for name, query in dataset.queries.items()
        ]

    def sql(self, question: Question, limits: Limits) -> Run:
        self._check(question)
        return self._run(["sql", *self._options(question)], question.sql, limits)

    def query(self, name: str, parameters: Mapping[str, str], limits: Limits) -> Run:
        if not self._settings.dataset:
            raise UsageError("no dataset with named queries is declared; ask with SQL")
        return self._run(
            ["run", self._settings.dataset, "--queries", name, *_repeated("--param", parameters)], "", limits
        )

    def explain(self, question: Question, limits: Limits) -> Plan:
        self._check(question)
        words = ["sql", "--explain", "--data", str(self._settings.data), *self._options(question)]
        return Bounded(limits).text(self._call(words, question.sql, limits))

    def rejects(self, run: str, limits: Limits) -> Rejects:
        import polars as pl

        with self._lock:
            folder = self._runs.get(run)
        if folder is None:
            raise UnknownName(f"unknown run {run}; the rejects of the last {KEPT_RUNS} runs are kept")
        if not (folder / REJECTS).is_file():
            return Rejects([], 0, truncated=False)
        lazy = pl.scan_csv(folder / REJECTS, infer_schema=False)
        total = int(lazy.select(pl.len()).collect().item())
        first = lazy.select("file", "line", "column", "reason").head(limits.rows).collect()
        rows = Bounded(limits).rows(first.iter_rows())
        return Rejects([_reject(row) for row in rows], total, truncated=len(rows) < total)

    def _options(self, question: Question) -> list[str]:
        schema = [] if self._settings.schema is None else ["--schema", str(self._settings.schema)]
        types = {**self._settings.types, **question.types}
        return [*schema, *_repeated("--type", types), *_repeated("--param", question.parameters)]

    def _check(self, question: Question) -> None:
        """Raises if a statement reads other than files of the folder."""
        from cauce.runner.sql_source import is_path
        from cauce.sql_frontend.references import tables_named

        if question.dataset not in ("", self._settings.data.name):
            raise UnknownName(f"unknown dataset {question.dataset}; the only one is {self._settings.data.name}")
        root = self._settings.data.resolve()
        for name in filter(is_path, tables_named(question.sql)):
            if Path(name).is_absolute() or ".." in Path(name).parts or not _inside(root, name):
                raise UsageError(f"{name} is not in the folder of this server; name one of its tables")

    def _run(self, words: list[str], text: str, limits: Limits) -> Run:
        run = secrets.token_hex(6)
        folder = self._work / run
        options = ["--data", str(self._settings.data), "--out", str(folder), "--format", "parquet"]
        options += ["--memory", self._settings.memory] if self._settings.memory else []
        self._call([*words, *options], text, limits)
        bounded = Bounded(limits)
        answers = [_answer(path, bounded, limits) for path in sorted(folder.glob("*.parquet"), key=_in_order)]
        self._keep(run, folder)
        return Run(run, answers, self.rejects(run, Limits(0, 0)).total)

    def _keep(self, run: str, folder: Path) -> None:
        """Keeps the rejects alone: the answers may be large."""
        for path in folder.glob("*.parquet"):
            path.unlink()
        with self._lock:
            self._runs[run] = folder
            old = [self._runs.popitem(last=False)[1] for _ in range(len(self._runs) - KEPT_RUNS)]
        for each in old:
            shutil.rmtree(each, ignore_errors=True)

    def _call(self, words: list[str], text: str, limits: Limits) -> str:
        command = module_command("cauce", *words, "--config", "")
        own = ("CAUCE_SQL_", "CAUCE_RUN_")
        variables = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        with self._slots:
            process = subprocess.Popen(
                command,
                env=variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            try:
                out, err = process.communicate(text.encode(), limits.seconds)
            except subprocess.TimeoutExpired:
                raise JobFailed(
                    f"the time limit of {limits.seconds:g} s was exceeded; narrow the question, or raise --max-seconds"
                ) from None
            finally:
                _end(process)
        if process.returncode:
            raise _Failed(err.decode(errors="replace").strip()[-_LONGEST_MESSAGE:])
        return out.decode(errors="replace")


class _Failed(CauceError):
    """The message of a process that failed."""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _inside(root: Path, pattern: str) -> bool:
    return all(path.resolve().is_relative_to(root) for path in (*root.glob(pattern.rstrip("/")), root / pattern))


def _repeated(option: str, values: Mapping[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in (option, f"{name}={value}")]


def _answer(path: Path, bounded: Bounded, limits: Limits) -> Answer:
    import polars as pl

    lazy = pl.scan_parquet(path)
    total = int(lazy.select(pl.len()).collect().item())
    first = lazy.head(limits.rows).collect()
    rows = bounded.rows(first.iter_rows())
    columns = [Column(name, str(dtype)) for name, dtype in first.schema.items()]
    return Answer(path.stem, columns, rows, total, truncated=len(rows) < total)


def _reject(row: list[object]) -> Reject:
    file, line, column, reason = row
    return Reject(str(file), int(str(line)) if line else None, str(column) if column else None, str(reason))


def _in_order(path: Path) -> tuple[int, str]:
    return len(path.stem), path.stem
