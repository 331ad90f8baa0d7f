"""Limits of a service on the command line: messages for wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.cli.bodies import Launching
from cauce.cli.settings import gateway_settings
from cauce.errors import UsageError


def test_a_limit_is_set(tmp_path: Path) -> None:
    assert gateway_settings(Launching(limits=["jobs=7"]), tmp_path).limits.jobs == 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("foo=1", r"^unknown limit foo; expected one of backlog_bytes=\d+, "),
        ("job=1", "^unknown limit job; did you mean jobs?"),
        ("jobs", "^invalid value '' of --limit jobs; expected a number, as in jobs="),
        ("jobs=many", "^invalid value 'many' of --limit jobs; expected a number, as in jobs="),
        ("jobs=0", "^invalid --limit jobs=0; the value must be at least 1$"),
    ],
)
def test_a_wrong_limit_is_refused_with_what_is_expected(given: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        gateway_settings(Launching(limits=[given]), tmp_path)
