"""Cauce answers a catalogue of queries over streamed datasets, each exactly once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cauce.client import Service
    from cauce.plan import Dataset
    from cauce.worker.answers import Answers

__version__ = "0.1.0"
__all__ = ["__version__", "connect", "run"]


def run(
    dataset: str | Path | Dataset,
    data: str | Path,
    queries: str | Collection[str] | None = None,
    *,
    workers: int | None = None,
    partitions: int | None = None,
    max_rejects: int | str | None = None,
    progress: bool | None = None,
    **parameters: str,
) -> Answers:
    """Answers queries over the files in a folder. Returns a dictionary of Polars frames by the name of the query.

    `dataset` is the name of a built-in dataset, the path of a Python file, or a Dataset object. `queries` is one name
    or several; without it, all are answered. `workers` is the number of processes, by default the number of cores.
    `progress` shows bars; by default in terminals and notebooks. Other keywords are the dataset's own parameters.

    With `max_rejects`, a number of rows in all tables (100) or a share of each table ("5%"), a run that rejects more
    raises TooManyRejects.

    >>> cauce.run("books", "data/")["q3"]
    """
    # Imported here, so that a look at the version or the errors does not load the engine.
    from cauce.cli.notebook import watch_for
    from cauce.datasets import refuse_while_loading
    from cauce.errors import UsageError
    from cauce.worker.library import Request, answer

    refuse_while_loading("cauce.run")
    if progress not in (None, True, False):
        raise UsageError(f"progress must be True, False or None, not {progress!r}")
    request = Request(dataset, data, queries, workers, partitions, max_rejects, parameters)
    return answer(request, lambda totals: watch_for(totals, progress))


def connect(urls: str | Sequence[str], token: str | None = None, *, ca: str | None = None) -> Service:
    """The service behind one or several gateways. `ca` is a file of certificates to trust, for https.

    >>> cauce.connect("http://127.0.0.1:8080").submit("books", "data/").results("q3")
    """
    from cauce.client import Service

    return Service(urls, token, ca=ca)
