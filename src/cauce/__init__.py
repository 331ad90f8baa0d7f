"""Cauce answers a catalogue of queries over streamed datasets, each exactly once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cauce.client import Service
    from cauce.worker.job import Answers

__version__ = "0.1.0"
__all__ = ["__version__", "connect", "run"]


def run(
    dataset: str,
    data: str | Path,
    queries: Collection[str] | None = None,
    *,
    partitions: int | None = None,
    max_rejects: int | str | None = None,
    **parameters: str,
) -> Answers:
    """Answers of a built-in dataset, or of one declared in a Python file, over the files in a folder.

    With `max_rejects`, a number of rows in all tables (100) or a share of each table ("5%"), a run that rejects more
    raises TooManyRejects.

    >>> cauce.run("books", "data/")["q3"]
    """
    # Imported here, so that a look at the version or the errors does not load the engine.
    import os

    from cauce.datasets import load
    from cauce.scan.reject_summary import RejectLimit
    from cauce.worker.job import prepare
    from cauce.worker.run import run_for_answers

    limit = RejectLimit.parse(max_rejects)
    cores = os.cpu_count() or 1
    prepared = prepare(load(dataset), Path(data), queries, parameters, partitions or cores)
    answers = run_for_answers(prepared, cores)
    if limit is not None:
        limit.check(answers.summary)
    return answers


def connect(urls: str | Sequence[str], token: str | None = None, *, ca: str | None = None) -> Service:
    """The service behind one or several gateways. `ca` is a file of certificates to trust, for https.

    >>> cauce.connect("http://127.0.0.1:8080").submit("books", "data/").results("q3")
    """
    from cauce.client import Service

    return Service(urls, token, ca=ca)
