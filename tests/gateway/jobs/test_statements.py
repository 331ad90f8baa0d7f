"""The SQL statements of a job, for readers that did not start it."""

from __future__ import annotations

import pytest

from cauce.api.jobs import JobRequest
from cauce.api.sql import SqlRequest
from cauce.gateway.errors import NoSuchJob, NoSuchQuery
from tests.gateway.kept.shop import Shop, keep
from tests.gateway.serving import OWNER, World

SQL = "-- parameter: least = 3\nSELECT count(*) AS n FROM orders WHERE id > $least AND customer = $who"


def test_statements_are_returned_with_the_values_of_all_parameters(world: World) -> None:
    service = world.service()
    keep(service, Shop())
    service.kept_jobs.sql(OWNER, SqlRequest(SQL, "shop", "a", {"who": "ana"}))
    found = service.jobs.statements(OWNER, "a")
    assert (found.sql, found.on, found.job) == (SQL, "shop", "a")
    assert found.parameters == {"least": "3", "who": "ana"}


def test_a_job_of_named_queries_has_no_statements(world: World) -> None:
    service = world.service()
    service.jobs.create(OWNER, "named", JobRequest("coffee", ["q1"]))
    with pytest.raises(NoSuchQuery, match="dataset coffee; it has no SQL statements"):
        service.jobs.statements(OWNER, "named")


def test_statements_of_other_owners_are_not_shown(world: World) -> None:
    service = world.service()
    keep(service, Shop())
    service.kept_jobs.sql(OWNER, SqlRequest("SELECT count(*) FROM orders", "shop", "a"))
    with pytest.raises(NoSuchJob):
        service.jobs.statements("somebody", "a")
