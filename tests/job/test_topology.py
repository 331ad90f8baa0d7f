"""What a topology derives from a plan."""

from __future__ import annotations

import pytest

from cauce.datasets import load
from cauce.job.topology import Topology


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ("books", {"scan books", "group by title"}),
        ("movies", {"scan movies", "group by id, title"}),
        ("flights", {"scan airports", "group by airport"}),
        ("coffee", {"scan transactions", "group by store_id, user_id", "top 3 of each store_id"}),
    ],
)
def test_passes_wait_for_the_stages_that_the_diagram_of_the_plan_leads_from(dataset: str, expected: set[str]) -> None:
    plan = load(dataset).plan((), {}, 2, isolate=False)
    assert {stage.name for stage in Topology(plan, 2).before_scans} == expected
