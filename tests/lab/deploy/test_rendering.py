"""Placeholders of the templates."""

from __future__ import annotations

import re

import pytest

from cauce.lab.deploy.rendering import rendered
from tests.lab.deploy.reading import Written

LEFT = re.compile(r"%\{\w+\}|%%")


def test_a_placeholder_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError, match="name"):
        rendered("kubernetes/namespace.yaml", {})


def test_every_placeholder_is_filled(written: Written) -> None:
    paths = [path for path in written.folder.rglob("*") if path.is_file() and "src" not in path.parts]
    assert len(paths) > 5
    assert [path for path in paths if LEFT.search(path.read_text(encoding="utf-8"))] == []
