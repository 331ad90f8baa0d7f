"""Constant facts from `facts.toml`: countries, languages, airports, prices."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_FACTS = tomllib.loads(Path(__file__).with_name("facts.toml").read_text(encoding="utf-8"))


def facts(name: str) -> tuple[Any, ...]:
    """The entries of a list, each a text or a tuple."""
    return tuple(tuple(each) if isinstance(each, list) else each for each in _FACTS[name])
