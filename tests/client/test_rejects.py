"""Rejects of a job at a real service: `cauce submit` reports them as `cauce run` does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.cli.running import Outcome, cauce, written
from tests.cli.shop import shop, zoned_rows
from tests.client.real import Real

pytestmark = pytest.mark.slow

VISITS = """
from pathlib import Path

from cauce.plan import BOOLEAN, INTEGER, TIMESTAMPTZ, TEXT, TIMESTAMP, Boolean, Column, Dataset, Integer, Json
from cauce.plan import Relation, Table, Timestamp, ZonedTimestamp

kinds = {"id": Integer(), "seen": ZonedTimestamp(), "local": Timestamp(), "paid": Boolean()}
visits = Table("visits", "visits.csv", kinds | {"city": Column("extra", Json("city"))})
dataset = Dataset("visits", (visits,), source=Path(__file__))


@dataset.query(id=INTEGER, seen=TIMESTAMPTZ, local=TIMESTAMP, paid=BOOLEAN, city=TEXT)
def everything() -> Relation:
    '''All rows'''
    return visits.in_input_order()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rejects")
    shop(made, *zoned_rows(2, 18, unpaid=1))
    (made / "visits.py").write_text(VISITS)
    return made


@pytest.fixture(scope="module")
def real(folder: Path) -> Iterator[Real]:
    datasets = ["--dataset", str(folder / "shop.py"), "--dataset", str(folder / "visits.py")]
    with Real(folder / "real", "--workers", "1", "--gateways", "1", "--doctors", "1", *datasets) as real:
        yield real


def submit(real: Real, folder: Path, dataset: str, data: str, out: str, *more: str) -> Outcome:
    return cauce(folder, "submit", dataset, "--data", data, "--out", out, "--gateway", real.url, *more)


def test_submit_reports_rejects_as_run_does(real: Real, folder: Path) -> None:
    sent = submit(real, folder, "shop.py", "data", "answers")
    assert sent.code == 0, sent.err
    local = cauce(folder, "run", "shop.py", "--data", "data", "--out", "local", "--workers", "1")
    printed = sent.err[sent.err.index("note rejected") :]
    assert printed == local.err.replace("local/rejects.csv", "answers/rejects.csv")
    assert "orders, column when: 18 cells: a time with an offset" in printed
    assert (folder / "answers/rejects.csv").read_bytes() == (folder / "local/rejects.csv").read_bytes()


def test_submit_fetches_no_answers_beyond_its_limit(real: Real, folder: Path) -> None:
    outcome = submit(real, folder, "shop.py", "data", "limited", "--max-rejects", "50%", "--job", "limited")
    assert outcome.code == 1
    assert written(folder / "limited") == ["rejects.csv"]
    assert outcome.err.splitlines()[-1] == (
        "error [too-many-rejects] 19 of the 20 rows of orders (95 %) rejected, more than the 50% allowed: "
        "no answers were fetched (cauce results limited still fetches them)"
    )
    fetched = cauce(folder, "results", "limited", "--query", "income", "--gateway", real.url)
    assert fetched.out == "paid\n28.50\n"


def test_typed_columns_are_sent_and_their_answers_shown(real: Real, folder: Path) -> None:
    data = folder / "typed"
    data.mkdir()
    frame = pl.DataFrame(
        {
            "id": [1, 2],
            "seen": pl.Series([dt.datetime(2024, 1, 1, 12), None]).dt.replace_time_zone("Asia/Tokyo"),
            "local": [dt.datetime(2024, 1, 1, 12, 0, 0, 5), None],
            "paid": [False, None],
            "extra": [{"city": "Lima"}, None],
        }
    )
    frame.write_parquet(data / "visits.parquet")
    outcome = submit(real, folder, "visits.py", "typed", "typed-answers")
    assert outcome.code == 0, outcome.err
    assert "rejected" not in outcome.err
    expected = "1,2024-01-01T03:00:00Z,2024-01-01T12:00:00.000005,false,Lima"
    assert (folder / "typed-answers/everything.csv").read_text().splitlines()[1:] == [expected, "2,,,,"]
    assert "2024-01-01T12:00:00.000005" in outcome.out
