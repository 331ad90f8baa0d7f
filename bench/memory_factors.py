"""Peak memory of the operators of a fold, divided by the weight of their input: `python -m bench.memory_factors`.

Each operator runs in a process of its own. `FOLD_FACTOR` in `cauce/process/memory_limit.py` must be at least the
largest.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "1"

import numpy as np
import polars as pl

from cauce.job.frames import dump_frame, load_frame
from cauce.operators.aggregates import Count, Sum, final, merge, partial
from cauce.operators.join import Build, join
from cauce.operators.late import Late
from cauce.operators.order import sort_rows
from cauce.operators.top_k import top_k
from cauce.operators.weight import weigh

SUMS = {"n": Count(), "s": Sum("v")}


def _numbers(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame({"k": rng.permutation(rows), "v": rng.integers(0, 1000, rows)})


def _texts(rows: int) -> pl.DataFrame:
    return _numbers(rows).with_columns(k=pl.format("customer number {}", "k"))


def _group(states: pl.DataFrame) -> object:
    """As a fold: states are merged, then the final values are computed."""
    return final(merge(states, ("k",), SUMS), ("k",), SUMS)


def _join(frame: pl.DataFrame) -> object:
    half = frame.height // 2
    left, right = frame.head(half), frame.slice(half).rename({"v": "w"})
    return join(Late(left), Build(right, ("k",)), "left").frame(["k", "v", "w"])


OPERATORS: dict[str, Callable[[pl.DataFrame], object]] = {
    "group by": _group,
    "join": _join,
    "sort": lambda frame: sort_rows(frame, ()),
    "top 1 of each": lambda frame: top_k(frame, 1, (), ("k",)),
    "concat": lambda frame: pl.concat([frame.head(frame.height // 2), frame.slice(frame.height // 2)]).rechunk(),
    "encode, decode": lambda frame: load_frame(dump_frame(frame)),
}
INPUTS = {"numbers": _numbers, "texts": _texts}


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def _input(operator: str, kind: str, rows: int) -> pl.DataFrame:
    frame = INPUTS[kind](rows)
    return partial(frame, ("k",), SUMS) if operator == "group by" else frame


def _measure(operator: str, kind: str, rows: int, to: Connection) -> None:
    # Once with few rows: loads the libraries.
    OPERATORS[operator](_input(operator, kind, 1_000))
    frame = load_frame(dump_frame(_input(operator, kind, rows)))
    # The peak from here on, over the memory without the input.
    before = _status("VmRSS") - weigh(frame)
    Path("/proc/self/clear_refs").write_text("5")
    kept = OPERATORS[operator](frame)
    to.send((_status("VmHWM") - before) / weigh(frame))
    del kept


def factor(operator: str, kind: str, rows: int) -> float:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(operator, kind, rows, sender))
    process.start()
    try:
        return float(receiver.recv())
    finally:
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    rows = parser.parse_args().rows
    sys.stdout.write(f"{'':<16}{''.join(f'{kind:>10}' for kind in INPUTS)}\n")
    for operator in OPERATORS:
        found = [factor(operator, kind, rows) for kind in INPUTS]
        sys.stdout.write(f"{operator:<16}{''.join(f'{each:>10.1f}' for each in found)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
