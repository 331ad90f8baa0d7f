"""The resource in a real run of Dagster, against a real service. Needs `dagster`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contrib.kept import SQL, importable, kept_orders

pytestmark = pytest.mark.soak

dagster = pytest.importorskip("dagster")


def test_asset_is_made_from_an_answer_and_again_from_the_same_job(tmp_path: Path) -> None:
    importable("dagster")
    from cauce_dagster import CauceResource

    from cauce.client import Service

    # Dagster reads the annotations, and so needs the class itself.
    def revenue(cauce: Any) -> list[Any]:
        found = cauce.sql(SQL, on="shop", key="revenue of today")
        assert found.rejects.height == 1
        return list(found["q1"].rows())

    revenue.__annotations__["cauce"] = CauceResource
    asset = dagster.asset(revenue)
    with kept_orders(tmp_path) as url:
        for _ in range(2):
            done = dagster.materialize([asset], resources={"cauce": CauceResource(gateways=[url])})
            assert done.success
            rows = done.output_for_node("revenue")
            assert [(sku, str(paid)) for sku, paid in rows] == [("a", "1.50"), ("b", "2.00")]
        with Service(url) as service:
            assert len(service.jobs()) == 1
