"""A broken dataset file is listed with its error and accepts no jobs; other datasets still work."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.api.jobs import JobRequest
from cauce.datasets import BUILT_IN
from cauce.datasets.registry import Registry
from cauce.fabric.memory import MemoryFabric, Store
from cauce.gateway.errors import BadRequest
from cauce.gateway.jobs.catalogue import DatasetInfo
from cauce.gateway.jobs.job_service import Jobs
from cauce.gateway.limits import ServiceLimits
from tests.gateway.serving import OWNER

GOOD = """
from cauce.plan import TEXT, Column, Dataset, Relation, Table, Text

things = Table("things", "things.csv", {"name": Column("name", Text())})
dataset = Dataset("own", (things,))


@dataset.query(name=TEXT)
def q1() -> Relation:
    '''Which?'''
    return things.select("name").in_input_order()
"""
BROKEN = {
    "raises": (GOOD + "\nraise RuntimeError('out of\\norder')\n", "line 13: RuntimeError: out of order"),
    "syntax": (GOOD + "\ndef (", "line 13: syntax error: invalid syntax"),
    "exits": ("import sys\nsys.exit('no')\n", "line 2: SystemExit: no"),
    "no dataset": ("x = 1\n", "declares no dataset"),
    "query raises": (GOOD.replace("return things", "return 1 // 0 or things"), "ZeroDivisionError: "),
    "query exits": (GOOD.replace("return things", "return exit(3) or things"), "SystemExit: 3"),
    "unknown column": (GOOD.replace('things.select("name")', 'things.select("nom")'), "nom"),
}


def gateway(file: Path) -> Jobs:
    return Jobs(MemoryFabric(Store()), ServiceLimits(lanes=1), datasets=Registry([file]))


def listed(jobs: Jobs) -> dict[str, DatasetInfo]:
    return {each.name: each for each in jobs.datasets()}


def check_broken(jobs: Jobs, name: str, reason: str) -> None:
    found = listed(jobs)
    assert list(found) == [*BUILT_IN, name]
    assert reason in found[name].error
    assert "\n" not in found[name].error
    for built_in in BUILT_IN:
        assert found[built_in].error == ""
        assert found[built_in].queries
    with pytest.raises(BadRequest, match=f"dataset {name} cannot be used") as problem:
        jobs.create(OWNER, "j", JobRequest(name))
    assert reason in str(problem.value)
    assert jobs.create(OWNER, "k", JobRequest("coffee"))[1]


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_becomes_broken_and_is_corrected(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "own.py"
    file.write_text(GOOD)
    jobs = gateway(file)
    assert listed(jobs)["own"].error == ""
    assert jobs.create(OWNER, "before", JobRequest("own"))[1]
    text, reason = BROKEN[kind]
    file.write_text(text)
    check_broken(jobs, "own", reason)
    file.write_text(GOOD + "\n")
    assert [query.name for query in listed(jobs)["own"].queries] == ["q1"]
    assert jobs.create(OWNER, "after", JobRequest("own"))[1]


def test_a_gateway_starts_with_a_file_that_is_broken_or_gone(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    check_broken(gateway(file), "own", "own.py does not exist")
    file.write_text("raise RuntimeError('no')")
    check_broken(gateway(file), "own", "RuntimeError: no")


def test_an_unknown_query_is_the_clients_error(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(GOOD)
    with pytest.raises(BadRequest) as problem:
        gateway(file).create(OWNER, "j", JobRequest("own", ["q9"]))
    assert "cannot be used" not in str(problem.value)
    assert "q9" in str(problem.value)
