"""Cauce answers queries over datasets exactly once, whichever process is killed.

A dataset file imports only `cauce` and Polars: this module exports every public name of `cauce.plan` and loads it on
first use.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cauce.client import Service
    from cauce.plan import *  # noqa: F403
    from cauce.plan import Dataset
    from cauce.runner.answers import Answers
    from cauce.runner.given_tables import Frame

__version__ = "0.2.0"
__all__ = ["__version__", "connect", "run", "sql"]


def run(
    dataset: str | Path | Dataset,
    data: str | Path,
    queries: str | Collection[str] | None = None,
    *,
    workers: int | None = None,
    partitions: int | None = None,
    memory: int | str | None = None,
    max_rejects: int | str | None = None,
    progress: bool | None = None,
    **parameters: str,
) -> Answers:
    """Answers queries over the files in a folder. Returns a dictionary of Polars frames by the name of the query.

    `dataset` is the name of a built-in dataset, the path of a Python file, or a Dataset object. `queries` is one name
    or several; without it, all are answered. `workers` is the number of processes, by default the number of cores.
    `memory` limits the memory of all workers together, as in "1GB"; by default to three quarters of the machine's.
    `progress` shows bars; by default in terminals and notebooks. Other keywords are the dataset's own parameters.

    With `max_rejects`, a number of rows in all tables (100) or a share of each table ("5%"), a run that rejects more
    raises TooManyRejects.

    >>> answers = cauce.run("examples/my_shop.py", "examples/my_shop", "tags")
    >>> answers["tags"].columns
    ['tag', 'orders', 'products']
    """
    # Imported here, so that reading the version or the errors does not load the engine.
    from cauce.datasets import refuse_while_loading
    from cauce.runner.library import Request, answer
    from cauce.terminal.notebook import watch_for

    refuse_while_loading("cauce.run")
    request = Request(dataset, data, queries, workers, partitions, max_rejects, memory, parameters)
    return answer(request, watch_for(progress))


def sql(
    text: str,
    data: str | Path | Frame | Mapping[str, str | Path | Frame] = ".",
    *,
    types: Mapping[str, str] | None = None,
    schema: str | Path | None = None,
    workers: int | None = None,
    partitions: int | None = None,
    memory: int | str | None = None,
    max_rejects: int | str | None = None,
    progress: bool | None = None,
    **parameters: str,
) -> Answers:
    """Answers SQL statements over files and frames. Returns a dictionary of Polars frames by the name of the
    statement: q1, q2, … or what a comment `-- name: top_customers` before it says.

    `data` is a folder, a file, a frame (of Polars, pandas or Arrow; its table is called data), or a dictionary with a
    frame, file or folder for each table. In a folder, `orders.csv` is table orders, a sub-directory is one table of all
    its files, and a statement may name files as in FROM 'orders_*.csv'. The types of columns are inferred; `types` sets
    some, `schema` is a file as `cauce schema` prints it. Other arguments are as in `cauce.run`; other keywords are the
    statements' own parameters.

    >>> cauce.sql("SELECT count(*) AS ratings FROM ratings", "examples/my_shop")["q1"].rows()
    [(9,)]
    >>> prices = pl.DataFrame({"sku": ["A1", "A2"], "price": [3, 4]})
    >>> text = "SELECT sku, price, count(*) AS ratings FROM prices JOIN ratings USING (sku) GROUP BY ALL ORDER BY sku"
    >>> cauce.sql(text, {"prices": prices, "ratings": "examples/my_shop/ratings.csv"})["q1"].rows()
    [('A1', 3, 2), ('A2', 4, 1)]
    """
    from cauce.datasets import refuse_while_loading
    from cauce.runner import library
    from cauce.terminal.notebook import watch_for

    refuse_while_loading("cauce.sql")
    request = library.Request(text, data, None, workers, partitions, max_rejects, memory, parameters)
    return library.answer_sql(request, types, schema, watch_for(progress))


def connect(urls: str | Sequence[str], token: str | None = None, *, ca: str | None = None) -> Service:
    """Returns a client of the service behind one or several gateways. `ca` is a file of trusted certificates (https).

    >>> cauce.connect("http://127.0.0.1:8080").submit("books", "data/").results("q3")
    """
    from cauce.client import Service

    return Service(urls, token, ca=ca)


def __getattr__(name: str) -> object:
    if not name.startswith("_"):
        # An import statement would look up the name `plan` in this module first, and recurse.
        plan = import_module("cauce.plan")
        if name in plan.__all__:
            return getattr(plan, name)
    raise AttributeError(f"module 'cauce' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *import_module("cauce.plan").__all__])
