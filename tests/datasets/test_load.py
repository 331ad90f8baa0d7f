"""Loading a user's dataset file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cauce.datasets import load

SHOP = """
from cauce.plan import TEXT, Dataset, Table, Text

orders = Table("orders", "orders.csv", {"name": Text()})
dataset = Dataset("%s", (orders,))


@dataset.query(name=TEXT)
def q1():
    return orders.select("name")
"""


@pytest.fixture
def bytecode_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enables bytecode caches, as for a user: the test environment may disable them."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


@pytest.mark.usefixtures("bytecode_written")
def test_no_cache_appears_beside_a_dataset_file(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SHOP % "shop")

    load(str(file))

    assert [path.name for path in tmp_path.iterdir()] == ["shop.py"]


@pytest.mark.usefixtures("bytecode_written")
def test_an_edit_within_the_same_second_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SHOP % "first")
    load(str(file))

    file.write_text(SHOP % "other")

    assert load(str(file)).name == "other"
