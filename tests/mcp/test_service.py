"""`cauce mcp` over the datasets that a service keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cauce.client import Service
from tests.mcp.clients import Caller, over_stdio
from tests.service.running import Running

pytestmark = pytest.mark.slow

TEXT = "SELECT sku, sum(paid) AS paid FROM orders GROUP BY sku ORDER BY sku"


def test_kept_dataset_is_listed_asked_and_explained(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "orders.csv").write_text("sku,paid\na,1.50\nb,2\na,free\n")

    async def talk(caller: Caller) -> list[Any]:
        run = await caller.result("run_sql", sql=TEXT, max_rows=1)
        return [
            (await caller.result("list_tables"))["tables"],
            run,
            (await caller.result("rejects", run=run["run"]))["rejects"],
            (await caller.result("explain_sql", sql=TEXT, dataset="shop"))["plan"],
            await caller.failure("run_sql", sql=TEXT, dataset="other"),
        ]

    with Running(tmp_path, "serve", "--workers", "1", "--gateways", "1", "--doctors", "1") as running:
        with Service(running.url) as service:
            service.upload("shop", data, types={"orders.paid": "decimal(18,2)"})
        (table,), run, (reject,), plan, message = over_stdio(["--gateway", running.url], talk)
    assert (table["dataset"], table["name"], len(table["columns"])) == ("shop", "orders", 2)
    (answer,) = run["answers"]
    assert answer["rows"] == [["a", "1.50"]]
    assert (answer["total_rows"], answer["truncated"], run["rejected"]) == (2, True, 1)
    assert (reject["file"], reject["line"], reject["column"]) == ("orders.csv", 4, "paid")
    assert "scan orders" in plan
    assert "unknown dataset other" in message
