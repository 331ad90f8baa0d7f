"""A plan has the same digest in every process, whatever objects its Python functions refer to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOP = '''
import polars as pl
from pathlib import Path
from cauce.plan import *

sales = Table("sales", "sales.csv", {"kind": Text()})
dataset = Dataset("shop", (sales,), source=Path(__file__))
HOT = {"tea", "coffee", "cocoa", "mate", "chai"}


@dataset.query(kind=TEXT)
def q1():
    """Hot drinks"""
    hot = pl.col("kind").map_batches(lambda s: s.is_in(list(HOT | {"milk", "cider"})), return_dtype=pl.Boolean)
    return sales.filter(hot).in_input_order()
'''


@pytest.mark.slow
def test_a_set_in_a_function_does_not_change_the_digest(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_text(SHOP)
    code = f"from cauce.datasets import load; print(load({str(path)!r}).plan().digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(digests) == 1
