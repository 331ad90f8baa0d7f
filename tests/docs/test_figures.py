"""Ratios in the README and in the comparison equal those of docs/performance.md, row by row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, name_of, text_of

SOURCE = ROOT / "docs/performance.md"
PAGES = [ROOT / "README.md", ROOT / "docs/comparison.md"]
TABLE = re.compile(r"^\| \| files \|.*\n\|[-|]+\n((?:\|.*\n)+)", re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)?")

Row = tuple[str, str]
"""The dataset, and the size of its files."""


def rows(page: Path) -> dict[tuple[Row, int], set[str]]:
    """The numbers of each row, by its subject and its index among rows of the same subject."""
    found: dict[tuple[Row, int], set[str]] = {}
    (table,) = TABLE.findall(text_of(page))
    for line in table.splitlines():
        first, files, *ratios = [cell.strip() for cell in line.strip("|").split("|")]
        about = first.split()[0].strip(","), files
        place = sum(known == about for known, _ in found)
        found[about, place] = {number for cell in ratios for number in NUMBER.findall(cell)}
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_ratios_equal_the_measurements(page: Path) -> None:
    measured = rows(SOURCE)
    shown = rows(page)
    assert len(shown) >= 6
    for row, numbers in shown.items():
        assert row in measured, f"{row} was not measured"
        assert numbers <= measured[row], f"{row}: {numbers - measured[row]} was not measured"
