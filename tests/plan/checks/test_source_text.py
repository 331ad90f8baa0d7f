"""The normalised text of a dataset file: comments and blank lines do not change it."""

from __future__ import annotations

import pytest

from cauce.plan.checks.source_text import without_comments

CODE = b'''def f(a, b):
    """Text

    # not a comment
    """
    return f"#{a}" + b
'''


@pytest.mark.parametrize(
    "same",
    [
        b"# first\n\n" + CODE,
        CODE + b"\n# last\n",
        CODE.replace(b"(a, b):", b"(a, b):  # why"),
        CODE.replace(b"    return", b"    # why\n\n    return"),
        CODE.replace(b"\n", b"\r\n"),
    ],
)
def test_comments_and_blank_lines_do_not_count(same: bytes) -> None:
    assert without_comments(same) == without_comments(CODE)


@pytest.mark.parametrize(
    "other",
    [
        CODE.replace(b"+ b", b"+ a"),
        CODE.replace(b"    # not a comment\n", b""),
        CODE.replace(b"Text\n\n", b"Text\n"),
        CODE.replace(b'"#{a}"', b'"# {a}"'),
    ],
)
def test_everything_else_counts(other: bytes) -> None:
    assert without_comments(other) != without_comments(CODE)


@pytest.mark.parametrize("broken", [b"def (", b'x = """', b"# coding: nonsense\n", b"\xff\xfe"])
def test_source_that_is_not_python_is_unchanged(broken: bytes) -> None:
    assert without_comments(broken) == broken
