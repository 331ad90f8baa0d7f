"""A job that needs more memory than there is: the kernel ends its workers, and the job is quarantined for that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chaos.cluster import Cluster
from tests.service.conftest import QUERIES, Case
from tests.service.running import until

LIMIT_BYTES = 1500 << 20
GROUPS = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
"""Of the first version of control groups, and of the second."""

GREEDY = '''
from pathlib import Path

import numpy as np
import polars as pl

from cauce.plan import INTEGER, TEXT, Dataset, Relation, Table, Text, agg

notes = Table("notes", "notes.csv", {"name": Text()})
dataset = Dataset("greedy", (notes,), source=Path(__file__))


def take(names: pl.Series) -> pl.Series:
    return pl.Series([str(np.ones(1 << 29).sum())] * len(names))


@dataset.query(name=TEXT, notes=INTEGER)
def q1() -> Relation:
    """Takes four gigabytes"""
    taken = pl.col("name").map_batches(take, return_dtype=pl.String)
    return notes.with_columns(name=taken).group_by("name").agg(notes=agg.count()).sort("name")
'''


def new_group() -> Path:
    for root, limit in zip(GROUPS, ("memory.limit_in_bytes", "memory.max"), strict=True):
        group = root / f"cauce-test-{os.getpid()}"
        try:
            group.mkdir()
            (group / limit).write_text(str(LIMIT_BYTES))
        except OSError:
            if group.is_dir():
                group.rmdir()
            continue
        return group
    pytest.skip("control groups for memory cannot be made here")


@pytest.fixture
def group() -> Iterator[Path]:
    found = new_group()
    yield found
    until("an empty control group", lambda: not (found / "cgroup.procs").read_text())
    found.rmdir()


def own_group() -> Path:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return GROUPS[0] / path.lstrip("/")
    return GROUPS[1] / line.split(":", 2)[2].lstrip("/")


@contextmanager
def starting_in(group: Path) -> Iterator[None]:
    """Processes that are started meanwhile belong to the group."""
    before = own_group()
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (before / "cgroup.procs").write_text(str(os.getpid()))


def kernel_kills(group: Path) -> int:
    file = group / ("memory.oom_control" if (group / "memory.oom_control").exists() else "memory.events")
    return next(int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith("oom_kill "))


def test_a_job_whose_workers_are_killed_for_memory_is_quarantined(tmp_path: Path, group: Path, case: Case) -> None:
    (tmp_path / "greedy.py").write_text(GREEDY)
    with starting_in(group):
        started = Cluster(tmp_path, "--dataset", str(tmp_path / "greedy.py"))
    with started as cluster:
        service = cluster.service
        assert service.create("greedy", "greedy", ["q1"]).status == 201
        part = "/v1/jobs/greedy/tables/notes/parts/0"
        assert service.ask("PUT", part, b"name\nx\n", {"Content-Type": "text/csv"}).status == 201
        assert service.complete("greedy", "notes", 1).status == 200
        until("the end of the job", lambda: service.state("greedy") == "failed", 120.0)
        kills = kernel_kills(group)
        cause = str(service.get("/v1/jobs/greedy").json()["cause"])
        assert kills >= 3
        assert "killed by the kernel for lack of memory (3 times)" in cause
        cluster.until_well()
        assert service.create("small", queries=QUERIES).status == 201
        service.upload("small", case.pieces)
        service.wait_done("small")
        names = {event.name for event in cluster.events() if event.what == "crashed"}
    assert names <= {"worker-1", "worker-2"}
