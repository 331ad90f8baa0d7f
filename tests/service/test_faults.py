"""A job whose work ends its workers by a fault of the program: the doctors record the signal, and the job is
quarantined for that after three crashes."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.cluster import Cluster
from tests.service.running import until

FAULTY = '''
import os
import signal
from pathlib import Path

import polars as pl

from cauce.plan import INTEGER, TEXT, Dataset, Relation, Table, Text, agg

notes = Table("notes", "notes.csv", {"name": Text()})
dataset = Dataset("faulty", (notes,), source=Path(__file__))


def fail(names: pl.Series) -> pl.Series:
    os.kill(os.getpid(), signal.SIGSEGV)
    return names


@dataset.query(name=TEXT, notes=INTEGER)
def q1() -> Relation:
    """Ends its worker as a library does that writes to the wrong place"""
    failed = pl.col("name").map_batches(fail, return_dtype=pl.String)
    return notes.with_columns(name=failed).group_by("name").agg(notes=agg.count()).sort("name")
'''


def test_a_job_that_ends_its_workers_by_a_fault_is_quarantined_after_three_crashes(tmp_path: Path) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    with Cluster(tmp_path, "--dataset", str(tmp_path / "faulty.py")) as cluster:
        service = cluster.service
        assert service.create("faulty", "faulty", ["q1"]).status == 201
        part = "/v1/jobs/faulty/tables/notes/parts/0"
        assert service.ask("PUT", part, b"name\nx\n", {"Content-Type": "text/csv"}).status == 201
        assert service.complete("faulty", "notes", 1).status == 200
        until("the end of the job", lambda: service.state("faulty") == "failed", 300.0)
        cause = str(service.get("/v1/jobs/faulty").json()["cause"])
        assert "has killed its worker 3 times" in cause
        assert "such as SIGSEGV (3 times)" in cause
        reasons = {event.reason for event in cluster.events() if event.what == "crashed"}
    assert reasons == {"killed by SIGSEGV"}
