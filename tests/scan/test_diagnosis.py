from __future__ import annotations

import pytest

from cauce.scan.cells.kinds import (
    Boolean,
    Date,
    Decimal,
    Fixed,
    Integer,
    Json,
    Kind,
    Text,
    Timestamp,
    ZonedTimestamp,
)
from cauce.scan.diagnosis import HAS_NO_OFFSET, HAS_OFFSET, declaration, reasons, remedy


@pytest.mark.parametrize(
    ("kind", "raws", "expected"),
    [
        (Timestamp(), ["2024-01-01T00:00Z", "x"], [HAS_OFFSET, Timestamp().reason]),
        (ZonedTimestamp(), ["2024-01-01 00:00", "x"], [HAS_NO_OFFSET, ZonedTimestamp().reason]),
        (
            ZonedTimestamp("Europe/Madrid"),
            ["2024-03-31 02:30"],
            ["a time that the clocks of Europe/Madrid skip or show twice"],
        ),
        (Json("a", Integer()), ['{"a": "x"}', "{"], ["not an integer, at a", "not valid JSON"]),
        (Json(), ["{"], ["not valid JSON"]),
        (Boolean(), ["maybe"], ["not a boolean (true/false, yes/no, 1/0)"]),
        (Timestamp("%Y-%m-%d %H:%M:%S"), ["2024-01-01"], ["not a time (YYYY-MM-DD HH:MM:SS)"]),
    ],
)
def test_the_reason_says_what_is_wrong_with_the_cell(kind: Kind, raws: list[str], expected: list[str]) -> None:
    assert reasons(kind, raws) == expected


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        (Timestamp(), "2024-01-02T03:04:05Z", "declare it as ZonedTimestamp(), which gives moments in UTC"),
        (ZonedTimestamp(), "2024-01-02 03:04", 'declare it as ZonedTimestamp("Area/City") with the zone of these'),
        (Timestamp("%Y-%m-%d %H:%M:%S"), "2024-01-02T03:04:05.5", "declare it as Timestamp()"),
        (Timestamp(), "31/12/2024 10:00", 'declare it as Timestamp(format="%-d/%-m/%Y %H:%M")'),
        (Timestamp(), "1/2/2024 10:00", '"%-d/%-m/%Y %H:%M") or Timestamp(format="%-m/%-d/%Y %H:%M")'),
        (Date(), "20240102", 'declare it as Date(format="%Y%m%d")'),
        (Date(), "2024-01-02 10:00", "declare it as Timestamp()"),
        (Integer(), "17272.0", "declare it as Identifier()"),
        (Integer(), "1.5", "declare it as Decimal()"),
        (Decimal(), "true", "declare it as Boolean()"),
        (Fixed(2), "good", "correct the cells, or declare it as Text()"),
        (Json("a", Integer()), '{"a": "x"}', "declare it as Json('a'), which gives texts"),
    ],
)
def test_the_remedy_is_a_declaration_that_accepts_such_a_cell(kind: Kind, raw: str, expected: str) -> None:
    assert expected in remedy(kind, raw)


def test_a_declaration_is_valid_dataset_code() -> None:
    kinds = [Integer(), Fixed(3), Timestamp("%d/%m/%Y"), ZonedTimestamp("UTC"), Json("a.b"), Text()]
    assert [declaration(kind) for kind in kinds] == [
        *("Integer()", "Fixed(places=3)", 'Timestamp(format="%d/%m/%Y")', 'ZonedTimestamp(zone="UTC")'),
        *('Json(path="a.b")', "Text()"),
    ]
