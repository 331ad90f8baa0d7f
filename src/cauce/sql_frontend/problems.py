"""Errors of SQL texts: the line and column of the construct, the construct, and another way to write it."""

from __future__ import annotations

from cauce.errors import SqlError, line_and_column

__all__ = ["SqlError", "StatementError", "line_and_column"]


class StatementError(Exception):
    """An error at an offset, where the text of the statement is not known."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
