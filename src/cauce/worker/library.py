"""`cauce.run`: checks what a Python program passes, and answers with worker processes or in this process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from cauce.datasets.given import dataset_of, other_processes_can_load
from cauce.errors import UsageError
from cauce.plan import Dataset
from cauce.scan.reject_summary import RejectLimit
from cauce.worker.answers import Answers
from cauce.worker.client import Watch
from cauce.worker.job import Prepared, prepare
from cauce.worker.run import LITTLE_BYTES, run_for_answers, run_in_this_process

MOST_WORKERS, MOST_PARTITIONS = 256, 4096

WatchFor = Callable[[Mapping[str, int]], AbstractContextManager[Watch]]


@dataclass(frozen=True)
class Request:
    """The arguments of `cauce.run` as they were passed: of any type, until they are checked."""

    dataset: object
    data: object
    queries: object
    workers: object
    partitions: object
    max_rejects: int | str | None
    parameters: Mapping[str, object]


def answer(request: Request, watch_for: WatchFor) -> Answers:
    """Raises a UsageError before anything is started where an argument is wrong."""
    cores = os.cpu_count() or 1
    workers = _number("workers", request.workers, cores, MOST_WORKERS)
    partitions = _number("partitions", request.partitions, cores, MOST_PARTITIONS)
    queries = queries_of(request.queries)
    parameters = parameters_of(request.parameters)
    limit = RejectLimit.parse(request.max_rejects)
    data = folder_of(request.data)
    dataset = dataset_of(request.dataset)
    prepared = prepare(dataset, data, queries, parameters, partitions)
    with watch_for(prepared.bytes) as watch:
        if _needs_this_process(dataset, prepared):
            answers = run_in_this_process(prepared, watch)
        else:
            answers = run_for_answers(prepared, workers, watch)
    if limit is not None:
        limit.check(answers.summary)
    answers.questions.update({query: dataset.queries[query].question for query in answers})
    return answers


def _needs_this_process(dataset: Dataset, prepared: Prepared) -> bool:
    plan = prepared.plan
    if sum(prepared.bytes.values()) < LITTLE_BYTES:
        return False
    if other_processes_can_load(dataset, plan.digest, tuple(plan.results), prepared.parameters, plan.partitions):
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
    """One name, or several; None for all."""
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


def folder_of(given: object) -> Path:
    if not isinstance(given, str | os.PathLike) or isinstance(given, bytes):
        raise UsageError(f"data must be the path of a folder, as a str or a Path, not {given!r}")
    if not str(given):
        raise UsageError("data is empty; name the folder that holds the files")
    return Path(given).expanduser()
