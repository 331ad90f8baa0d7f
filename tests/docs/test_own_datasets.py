"""Every Python block of docs/own-datasets.md runs on the tables of the example."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import polars as pl
import pytest

import cauce.plan
from cauce.plan import Dataset, Table
from tests.docs.pages import ROOT, Block, blocks

PAGE = ROOT / "docs/own-datasets.md"
PIECES = [block for block in blocks(PAGE) if block.language == "python"]


@pytest.fixture(scope="module")
def words() -> dict[str, object]:
    """The names that the page assumes in every block: its imports, and the tables of the example."""
    example = runpy.run_path(str(ROOT / "examples/my_shop.py"))
    tables = {name: value for name, value in example.items() if isinstance(value, Table)}
    return {"pl": pl, **{name: getattr(cauce.plan, name) for name in cauce.plan.__all__}, **tables}


@pytest.mark.parametrize("block", PIECES, ids=str)
def test_python_block_runs(block: Block, words: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "piece.py"
    # With a star import, init_globals could not show which names a block defines itself.
    file.write_text(re.sub(r"^from cauce.plan import \*$", "", block.code, flags=re.MULTILINE))
    made = runpy.run_path(str(file), init_globals=words)
    if isinstance(dataset := made.get("dataset"), Dataset):
        assert dataset.plan([], dataset.parameter_values({}), 2).stages
