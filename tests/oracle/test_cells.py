"""Every kind of cell: accepted texts with their values, and rejected texts."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from tests.oracle.cells import (
    CENTS,
    DATE,
    DECIMAL,
    DURATION,
    FLOAT,
    IDENTIFIER,
    INTEGER,
    NAMES,
    TEXT,
    TEXT_LIST,
    TIMESTAMP,
    Kind,
    Value,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (TEXT, " NA ", " NA "),
        (INTEGER, "-9223372036854775808", -(2**63)),
        (INTEGER, "+" + "0" * 5000 + "7", 7),
        (IDENTIFIER, "17272.0", 17272),
        (IDENTIFIER, "17272", 17272),
        (IDENTIFIER, "-1.00", -1),
        (DECIMAL, "4.0", Decimal(4)),
        (DECIMAL, "-0012.50", Decimal("-12.5")),
        (DECIMAL, "+99999999999999999.999999999999999999", Decimal("99999999999999999.999999999999999999")),
        (DECIMAL, "0" * 30 + "1." + "0" * 30, Decimal(1)),
        (DECIMAL, ".5", Decimal("0.5")),
        (DECIMAL, "5.", Decimal(5)),
        (CENTS, "1023.6", 102360),
        (CENTS, "-0.05", -5),
        (CENTS, "12.3400", 1234),
        (CENTS, "92233720368547758.07", 2**63 - 1),
        (FLOAT, "26.733333000000002", 26.733333000000002),
        (FLOAT, "-8", -8.0),
        (DATE, "2024-02-29", date(2024, 2, 29)),
        (TIMESTAMP, "2024-12-31 23:59:59", datetime(2024, 12, 31, 23, 59, 59)),
        (DURATION, "PT9H9M", 549),
        (DURATION, "PT9H", 540),
        (DURATION, "PT9M", 9),
        (DURATION, "P1DT6H58M", 1858),
        (DURATION, "P2D", 2880),
        (DURATION, "PT0M", 0),
        (TEXT_LIST, "[]", []),
        (
            TEXT_LIST,
            """["Nena O'Neill", 'Science fiction, American']""",
            ["Nena O'Neill", "Science fiction, American"],
        ),
        (NAMES, "[]", []),
        (NAMES, "[{'id': 1, 'name': 'Drama', 'x': None}, {'name': \"d'Or\"}]", ["Drama", "d'Or"]),
    ],
)
def test_valid_cell_is_decoded(kind: Kind, text: str, value: Value) -> None:
    assert kind.parse(text) == value


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (INTEGER, ["1.0", " 1", "1_0", "--1", "", "+", "٣", "9223372036854775808", "1\n", "1e3"]),
        (IDENTIFIER, ["1.5", "1.0.0", "1997-08-20", "9223372036854775808", "nan", ".", "1,0"]),
        (DECIMAL, ["1e3", "nan", "inf", ".", "-", "1.2.3", "1,5", "$1", "٣", "1 ", "/image.jpg"]),
        (DECIMAL, ["100000000000000000", "0.0000000000000000001"]),
        (CENTS, ["1.005", "1e2", "92233720368547758.08", "."]),
        (FLOAT, ["1e3", "nan", "inf", "\\N", "9" * 400]),
        (DATE, ["2023-02-29", "2024-2-9", "20240229", "2024-02-29 ", "2024-02-29 00:00:00", "0000-01-01"]),
        (TIMESTAMP, ["2024-01-01", "2024-01-01T00:00:00", "2024-01-01 24:00:00", "2024-01-01 00:00:60"]),
        (
            TIMESTAMP,
            ["2024-01-01 1:00:00", "2024-01-01 01:00", "2024-01-01 01:00:00.0", "2024-02-30 01:00:00"],
        ),
        (
            DURATION,
            ["P", "PT", "P1H", "PT1D", "PT1M1H", "PT1S", "PT1.5H", "pt1h", "T1H", "PT" + "9" * 19 + "H"],
        ),
        (TEXT_LIST, ["Fiction", "['a'", "('a',)", "'a'", "['a', 1]", "[None]", "[['a']]", "['\\ud800']"]),
        (TEXT_LIST, ["[f'a']", "[b'a']", "['a'] + ['b']", "[" * 500, "{[]: 1}", "['a\x00']", "['a\n']"]),
        (NAMES, ["['a']", "[{'id': 1}]", "[{'name': None}]", "{'name': 'a'}", "[{'name': 1}]", "None"]),
    ],
)
def test_invalid_cell_is_not_decoded(kind: Kind, texts: list[str]) -> None:
    for text in texts:
        with pytest.raises(ValueError):
            kind.parse(text)


def test_the_elements_of_a_list_keep_quotes_commas_and_unknown_escapes() -> None:
    assert TEXT_LIST.parse("""['a, b', "c'd", 'e\\'f', '\\d', 'x' 'y']""") == [
        "a, b",
        "c'd",
        "e'f",
        "\\d",
        "xy",
    ]
