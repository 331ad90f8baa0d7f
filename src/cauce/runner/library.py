"""Implements `cauce.run`: validates its arguments, and runs with worker processes or in this process."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from cauce.datasets.given import dataset_of, other_processes_can_load
from cauce.errors import CauceError, UsageError
from cauce.plan import Dataset
from cauce.process.memory_limit import MemoryBudget
from cauce.runner.answers import Answers, in_notebook
from cauce.runner.given_tables import folder_of_tables
from cauce.runner.in_process import LITTLE_BYTES
from cauce.runner.local_client import TableInput, Watch
from cauce.runner.run import run_for_answers, run_in_this_process
from cauce.runner.sinks import Prepared, prepare
from cauce.scan.reject_summary import RejectLimit

MOST_WORKERS, MOST_PARTITIONS = 256, 4096

WatchFor = Callable[[Mapping[str, TableInput]], AbstractContextManager[Watch]]


@dataclass(frozen=True)
class Request:
    """The arguments of `cauce.run` before validation: of any type."""

    dataset: object
    data: object
    queries: object
    workers: object
    partitions: object
    max_rejects: int | str | None
    memory: object
    parameters: Mapping[str, object]


def answer(request: Request, watch_for: WatchFor) -> Answers:
    """Runs a request. Raises a UsageError before anything is started if an argument is invalid."""
    execution = _execution(request)
    queries = queries_of(request.queries)
    parameters = parameters_of(request.parameters)
    data = folder_of(request.data)
    dataset = dataset_of(request.dataset)
    started = time.monotonic()
    broadcast_bytes = execution.memory.broadcast_bytes
    prepared = prepare(dataset, data, queries, parameters, execution.partitions, broadcast_bytes)
    with watch_for(prepared.inputs) as watch:
        if _needs_this_process(dataset, prepared):
            answers = run_in_this_process(prepared, watch, _memory(request, 1))
        else:
            answers = run_for_answers(prepared, execution.workers, watch, execution.memory)
    answers.seconds = time.monotonic() - started
    if execution.limit is not None:
        execution.limit.check(answers.summary)
    answers.questions.update({query: dataset.queries[query].question for query in answers})
    return answers


def answer_sql(request: Request, types: object, schema: object, watch_for: WatchFor) -> Answers:
    """Runs the statements that the request has in place of a dataset."""
    from cauce.runner.sql_source import Given, read_schema, source_of
    from cauce.schema import DatasetSchema
    from cauce.sql_frontend.dataset import dataset_of as dataset_of_sql

    if not isinstance(request.dataset, str):
        raise UsageError(f"text must be SQL statements as a str, not {request.dataset!r}")
    given = Given(
        DatasetSchema() if schema is None else read_schema(folder_of(schema, "schema", "file")), _types_of(types)
    )
    folder = folder_of(request.data) if isinstance(request.data, str | os.PathLike) else None
    execution = _execution(request)
    parameters = parameters_of(request.parameters)
    started = time.monotonic()
    with folder_of_tables(request.data, folder) as data:
        remarks: list[str] = []
        source = source_of(request.dataset, data, given, remarks.append)
        with _remarked(remarks):
            dataset = dataset_of_sql(source, parameters)
            prepared = replace(prepare(dataset, data, None, parameters, execution.partitions), sql=source)
            with watch_for(prepared.inputs) as watch:
                answers = run_for_answers(prepared, execution.workers, watch, execution.memory)
    answers.seconds = time.monotonic() - started
    answers.remarks = tuple(remarks)
    if execution.limit is not None:
        execution.limit.check(answers.summary)
    return answers


@contextmanager
def _remarked(remarks: Sequence[str]) -> Iterator[None]:
    """Warns of remarks about the files. A notebook shows them below the answers instead, or below an error of the
    block, which they may explain."""
    if not in_notebook():
        for remark in remarks:
            warnings.warn(remark, stacklevel=5)
        remarks = ()
    try:
        yield
    except CauceError as problem:
        for remark in remarks:
            problem.add_note(f"note {remark}")
        raise


def _types_of(given: object) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for pair in given.items() for each in pair):
        raise UsageError(f'types must be a dictionary such as {{"orders.paid": "decimal"}}, not {given!r}')
    return dict(given)


@dataclass(frozen=True)
class _Execution:
    workers: int
    partitions: int
    memory: MemoryBudget
    limit: RejectLimit | None


def _execution(request: Request) -> _Execution:
    cores = os.cpu_count() or 1
    workers = _number("workers", request.workers, cores, MOST_WORKERS)
    return _Execution(
        workers,
        _number("partitions", request.partitions, cores, MOST_PARTITIONS),
        _memory(request, workers),
        RejectLimit.parse(request.max_rejects),
    )


def _memory(request: Request, workers: int) -> MemoryBudget:
    given = request.memory
    if given is not None and (isinstance(given, bool) or not isinstance(given, int | str) or not given):
        raise UsageError(f'memory must be a size such as "1GB", a number of bytes, or None, not {given!r}')
    return MemoryBudget.of(given, workers, "memory=")


def _needs_this_process(dataset: Dataset, prepared: Prepared) -> bool:
    plan = prepared.plan
    if sum(prepared.bytes.values()) < LITTLE_BYTES:
        return False
    arguments = tuple(plan.results), prepared.parameters, plan.partitions, prepared.large
    if other_processes_can_load(dataset, plan.digest, *arguments):
        return False
    warnings.warn(
        f"dataset {dataset.name} is declared where worker processes cannot load it, so this process does all the work; "
        "to use all cores, save the dataset as a Python file and pass its path",
        stacklevel=4,
    )
    return True


def _number(name: str, given: object, default: int, most: int) -> int:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        raise UsageError(
            f"{name} must be a whole number from 1 to {most}, or None for the number of cores, not {given!r}"
        )
    return given


def queries_of(given: object) -> list[str] | None:
    """One or several names; None for all."""
    if given is None:
        return None
    if isinstance(given, str):
        given = [each.strip() for each in given.split(",")]
    names = list(given) if isinstance(given, list | tuple | set | frozenset | dict) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise UsageError(f"queries must be a name, a list of names, or None for all, not {given!r}")
    if not names:
        raise UsageError("queries is an empty list; name a query, or leave queries out to answer all")
    return names


def parameters_of(given: Mapping[str, object]) -> dict[str, str]:
    for name, value in given.items():
        if not isinstance(value, str):
            raise UsageError(f"parameter {name} must be a text, such as {name}={str(value)!r}, not {value!r}")
    return {name: str(value) for name, value in given.items()}


def folder_of(given: object, name: str = "data", what: str = "folder") -> Path:
    if not isinstance(given, str | os.PathLike) or isinstance(given, bytes):
        raise UsageError(f"{name} must be the path of a {what}, as a str or a Path, not {given!r}")
    if not str(given):
        raise UsageError(f"{name} is empty; name the {what}" + " that holds the files" * (what == "folder"))
    return Path(given).expanduser()
