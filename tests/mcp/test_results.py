"""Bounds of results."""

from __future__ import annotations

from decimal import Decimal

from cauce.mcp.results import Bounded, Limits


def test_rows_end_at_the_limit_of_bytes_over_all_answers() -> None:
    bounded = Bounded(Limits(rows=100, bytes=50))
    first = bounded.rows([["x" * 10]] * 3)
    assert len(first) == 3
    assert len(bounded.rows([["x" * 10]] * 3)) == 0


def test_whole_decimals_are_numbers_if_every_parser_reads_them() -> None:
    rows = Bounded(Limits()).rows([[Decimal(5), Decimal("5.0"), Decimal(2**53), None]])
    assert rows == [[5, "5.0", str(2**53), None]]


def test_text_is_cut_at_a_character() -> None:
    plan = Bounded(Limits(bytes=3)).text("aéé")
    assert (plan.plan, plan.truncated) == ("aé", True)
