"""Every process builds the same plan from a text, whatever the seed of its hashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
from cauce.sql_frontend.catalogue import catalogue_of
from cauce.sql_frontend.dataset import sql_dataset
from tests.sql_frontend.runs import KINDS
from tests.sql_frontend.test_queries import ORDERED, SCHEMA, UNORDERED
from bench.tpch import queries, tables
from cauce.plan import Table

made = [Table(name, f"{name}.csv", {c: KINDS[k] for c, k in columns.items()}) for name, columns in SCHEMA.items()]
print(sql_dataset(";".join(UNORDERED + ORDERED), catalogue_of(made)).plan(isolate=False).digest)
print(sql_dataset(";".join(queries().values()), catalogue_of(tables())).plan(isolate=False).digest)
"""


def _digests(seed: str) -> list[str]:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.split()


@pytest.mark.slow
def test_plans_of_two_processes_have_the_same_digest() -> None:
    one, other = _digests("1"), _digests("2")
    assert len(one) == 2
    assert one == other
