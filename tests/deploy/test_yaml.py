"""What is written as YAML comes back as it was."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from cauce.deploy.yaml import Octal, written

TEXTS = some.text(some.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
LIKE_OTHERS = some.sampled_from(
    [
        "yes",
        "No",
        "null",
        "~",
        "1",
        "1.5",
        "0x10",
        "1_000",
        "12:30",
        "2026-01-01",
        "=",
        "<<",
        "- a",
        "a: b",
        "#",
        "@x",
        "",
    ]
)
BLOCKS = some.sampled_from(
    ["a\n", "a\n\nb\n", " a\n", "a \n", "a\n\n", "\n", "a: 1\n# b\n", "a\n  b\n", "a\r\n", "\ta\n"]
)
PLAIN = TEXTS | LIKE_OTHERS | BLOCKS | some.integers() | some.booleans()
KEYS = TEXTS | LIKE_OTHERS
VALUES = some.recursive(PLAIN, lambda inner: some.lists(inner, max_size=3) | some.dictionaries(KEYS, inner, max_size=3))


@given(some.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_any_value_comes_back(value: dict[str, object]) -> None:
    assert yaml.safe_load(written(value)) == value  # type: ignore[arg-type]


def test_lines_stay_readable_lines() -> None:
    assert written({"a": "one\n\ntwo\n"}) == "a: |\n  one\n\n  two\n"


def test_a_list_of_plain_values_stays_on_its_line() -> None:
    assert written({"a": ["b", "--c", 1]}) == 'a: [b, "--c", 1]\n'


def test_comments_stand_above() -> None:
    assert written({"a": True}, "one", "") == "# one\n#\na: true\n"


@pytest.mark.parametrize("mode", [0o400, 0o755])
def test_a_mode_is_shown_in_octal(mode: int) -> None:
    assert written({"mode": Octal(mode)}) == f"mode: 0o{mode:o}\n"
