"""`cauce mcp --data` over standard input and output. One server answers all calls; each test looks at some of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from tests.mcp.clients import Caller, over_stdio

pytestmark = pytest.mark.slow

BY_REGION = "SELECT region, count(*) AS orders, sum(id) AS ids FROM orders GROUP BY ALL ORDER BY region"
TYPES = {"orders.paid": "decimal(18,2)"}
FAILURES: dict[str, tuple[str, dict[str, Any], str]] = {
    "an absolute path": ("run_sql", {"sql": "SELECT * FROM '/etc/secret.csv'"}, "is not in the folder"),
    "a path to the parent": ("run_sql", {"sql": "SELECT * FROM '../secret.csv'"}, "is not in the folder"),
    "a path over a link": ("run_sql", {"sql": "SELECT * FROM 'link/secret.csv'"}, "is not in the folder"),
    "a pattern over a link": ("run_sql", {"sql": "SELECT * FROM 'l*/*.csv'"}, "is not in the folder"),
    "an unknown column": ("run_sql", {"sql": "SELECT nothing FROM orders"}, "nothing"),
    "another statement": ("run_sql", {"sql": "DROP TABLE orders"}, "only queries"),
    "an unknown dataset": ("run_sql", {"sql": "SELECT 1", "dataset": "other"}, "unknown dataset other"),
    "no named queries": ("run_query", {"name": "q1"}, "no dataset with named queries"),
    "an unknown run": ("rejects", {"run": "gone"}, "unknown run gone"),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcp") / "shop"
    folder.mkdir()
    rows = "".join(f"{n},{'north' if n % 3 else 'south'},{n}.25\n" for n in range(1000))
    (folder / "orders.csv").write_text(f"id,region,paid\n{rows}1000,north,free\n")
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.csv").write_text("password\nhidden\n")
    (folder / "link").symlink_to(elsewhere)
    return folder


@pytest.fixture(scope="module")
def seen(data: Path) -> SimpleNamespace:
    async def talk(caller: Caller) -> SimpleNamespace:
        run = await caller.result("run_sql", sql=f"{BY_REGION}; SELECT sum(paid) AS paid FROM orders", types=TYPES)
        return SimpleNamespace(
            tools=(await caller.client.list_tools()).tools,
            tables=await caller.result("list_tables"),
            run=run,
            rejects=await caller.result("rejects", run=run["run"]),
            few=await caller.result("run_sql", sql="SELECT id FROM orders ORDER BY id", max_rows=3),
            many=await caller.result("run_sql", sql="SELECT id FROM orders ORDER BY id", max_rows=900),
            plan=await caller.result("explain_sql", sql="SELECT count(*) FROM orders"),
            failures={name: await caller.failure(tool, **given) for name, (tool, given, _) in FAILURES.items()},
        )

    found = over_stdio(["--data", str(data), "--max-rows", "50", "--max-bytes", "1000"], talk)
    assert isinstance(found, SimpleNamespace)
    return found


def test_tools_are_typed_and_read_only(seen: SimpleNamespace) -> None:
    tools = {tool.name: tool for tool in seen.tools}
    assert set(tools) == {"list_tables", "run_sql", "run_query", "explain_sql", "rejects"}
    assert all(tool.annotations.read_only_hint and tool.output_schema and tool.description for tool in tools.values())
    assert tools["run_sql"].input_schema["required"] == ["sql"]


def test_tables_have_columns_with_types(seen: SimpleNamespace) -> None:
    (table,) = (each for each in seen.tables["tables"] if each["name"] == "orders")
    assert table["dataset"] == "shop"
    assert [(each["name"], each["type"]) for each in table["columns"]][:2] == [("id", "integer"), ("region", "text")]


def test_tables_over_a_link_are_those_that_the_operator_has_linked(seen: SimpleNamespace) -> None:
    """A link in the folder is a table by its name, as for every command; only paths in statements are refused."""
    assert {each["name"] for each in seen.tables["tables"]} == {"orders", "link"}


def test_answer_equals_that_of_duckdb(seen: SimpleNamespace, data: Path) -> None:
    answer = seen.run["answers"][0]
    expected = duckdb.sql(BY_REGION.replace("FROM orders", f"FROM '{data}/orders.csv'")).fetchall()
    assert [tuple(row) for row in answer["rows"]] == expected
    assert (answer["total_rows"], answer["truncated"]) == (2, False)


def test_decimals_are_exact_texts(seen: SimpleNamespace) -> None:
    assert seen.run["answers"][1]["rows"] == [["499750.00"]]


def test_rejected_cell_is_listed(seen: SimpleNamespace) -> None:
    assert (seen.run["rejected"], seen.rejects["total"]) == (1, 1)
    (reject,) = seen.rejects["rejects"]
    assert (reject["file"], reject["line"], reject["column"]) == ("orders.csv", 1002, "paid")


def test_rows_are_limited_by_the_call_and_by_the_server(seen: SimpleNamespace) -> None:
    (answer,) = seen.few["answers"]
    assert (answer["rows"], answer["total_rows"], answer["truncated"]) == ([[0], [1], [2]], 1001, True)
    assert len(seen.many["answers"][0]["rows"]) == 50


def test_plan_is_explained(seen: SimpleNamespace) -> None:
    assert "scan orders" in seen.plan["plan"]


@pytest.mark.parametrize("case", FAILURES)
def test_errors_say_what_is_wrong(case: str, seen: SimpleNamespace) -> None:
    assert FAILURES[case][2] in seen.failures[case]


def test_time_is_limited(data: Path) -> None:
    async def talk(caller: Caller) -> str:
        return await caller.failure("run_sql", sql=BY_REGION)

    assert "time limit of 0.1 s" in over_stdio(["--data", str(data), "--max-seconds", "0.1"], talk)


def test_named_query_of_a_declared_dataset_is_answered(tmp_path: Path) -> None:
    from cauce.lab.generators import generate

    generate("coffee", tmp_path / "coffee", scale=0.0005, seed=1)

    async def talk(caller: Caller) -> tuple[Any, Any]:
        return await caller.result("list_tables"), await caller.result("run_query", name="q3", max_rows=1)

    listed, run = over_stdio(["--data", str(tmp_path / "coffee"), "--dataset", "coffee"], talk)
    assert [query["name"] for query in listed["queries"]] == ["q1", "q2", "q3", "q4"]
    assert run["answers"][0]["name"] == "q3"
