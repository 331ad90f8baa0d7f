"""All functions: importing this module fills the table."""

from __future__ import annotations

from cauce.sql_frontend.functions import conditional, lists, numbers, texts, times
from cauce.sql_frontend.functions.table import TABLE

MODULES = (texts, numbers, times, lists, conditional)

__all__ = ["MODULES", "TABLE"]
