"""A user-defined dataset: a Python file that is run with `cauce run file.py`."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from cauce.plan import Dataset
from tests.cli.running import Outcome, cauce, written
from tests.e2e.comparing import Way, run

EXAMPLES = Path(__file__).parents[2] / "examples"

TEMPERATURES = '''
from pathlib import Path

import polars as pl

from cauce.plan import INTEGER, TEXT, Dataset, Date, Integer, Parameter, Relation, Table, Text, agg, decimal
from cauce.plan import Decimal, agg, desc

measured = Table(
    "measured", "measured_*.csv", {"place": Text(), "day": Date(), "degrees": Decimal()}, required=["place"]
)
places_ = Table("places", "places.csv", {"place": Text(), "country": Text()}, delimiter="|", small=True)
dataset = Dataset(
    "weather", (measured, places_), parameters=(Parameter("unit", ("celsius", "kelvin"), "of the answers"),),
    source=Path(__file__),
)


@dataset.query(place=TEXT, degrees=decimal(1))
def frost() -> Relation:
    """Measurements below zero"""
    return measured.filter(pl.col("degrees") < 0).select("place", "degrees").in_input_order()


@dataset.query(country=TEXT, days=INTEGER, hottest=decimal(2), sum=decimal(2))
def hottest(unit: str) -> Relation:
    """The hottest day of each country"""
    add = pl.lit("273.15" if unit == "kelvin" else "0").cast(pl.Decimal(38, 18))
    return (
        measured.filter(pl.col("degrees").is_not_null())
        .join(places_, on="place")
        .with_columns(degrees=(pl.col("degrees") + add).cast(pl.Decimal(38, 18)))
        .group_by("country")
        .agg(days=agg.count(), hottest=agg.max("degrees"), sum=agg.sum("degrees"))
        .sort(desc("hottest"), "country")
    )
'''


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    (tmp_path / "weather.py").write_text(TEMPERATURES)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/places.csv").write_text("place|country\nUshuaia|Argentina\nSalta|Argentina\nOslo|Norway\n")
    (tmp_path / "data/measured_1.csv").write_text(
        "place,day,degrees\nOslo,2024-01-01,-10.25\nSalta,2024-01-01,30.1\nOslo,2024-01-02,warm\n"
    )
    (tmp_path / "data/measured_2.csv").write_text(
        "degrees,place,day\n-0.05,Ushuaia,2024-07-01\n,Oslo,2024-07-01\n9.75,Oslo,2024-05-01\n-5,,2024-07-01\n"
    )
    return tmp_path


def run_weather(folder: Path, *more: str) -> Outcome:
    return cauce(folder, "run", "weather.py", "--data", "data", "--out", "out", *more)


def test_user_dataset_is_answered(weather: Path) -> None:
    outcome = run_weather(weather)
    assert outcome.code == 0
    assert "weather.frost  Measurements below zero" in outcome.out
    assert written(weather / "out") == ["frost.csv", "hottest.csv", "rejects.csv"]
    assert (weather / "out/frost.csv").read_text() == "place,degrees\nOslo,-10.2\nUshuaia,0.0\n"
    assert (weather / "out/hottest.csv").read_text() == (
        "country,days,hottest,sum\nArgentina,2,30.10,30.05\nNorway,2,9.75,-0.50\n"
    )
    assert (weather / "out/rejects.csv").read_text() == (
        "file,line,column,reason,raw\nmeasured_1.csv,4,degrees,not a number,warm\n"
    )


@pytest.mark.slow
def test_user_dataset_has_parameters(weather: Path) -> None:
    assert run_weather(weather, "--param", "unit=kelvin", "--queries", "hottest").code == 0
    assert "Norway,2,282.90,545.80" in (weather / "out/hottest.csv").read_text()
    assert run_weather(weather, "--param", "unit=fahrenheit").code == 2


@pytest.mark.slow
def test_user_dataset_can_be_explained(weather: Path) -> None:
    outcome = cauce(weather, "explain", "weather.py")
    assert outcome.code == 0
    assert "answer hottest" in outcome.out


def test_user_dataset_does_not_depend_on_parts_or_partitions(weather: Path) -> None:
    dataset, data = str(weather / "weather.py"), weather / "data"
    expected = run(dataset, data, sentiment="celsius")
    for part_bytes in (1, 40, 10_000):
        for partitions in (1, 5):
            assert run(dataset, data, sentiment="celsius", way=Way(part_bytes, partitions)) == expected


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_run_on_their_own_files(example: Path, tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "run", str(example), "--data", str(example.with_suffix("")), "--out", "out")
    assert outcome.code == 0
    dataset = runpy.run_path(str(example))["dataset"]
    assert isinstance(dataset, Dataset)
    for query in dataset.queries:
        assert (tmp_path / f"out/{query}.csv").read_text().count("\n") > 1
