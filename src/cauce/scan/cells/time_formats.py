"""Formats of dates and times with the directives of ``strptime``, checked and compiled to steps that a kernel runs.

Formats are strict: ``%d`` takes two digits, ``%-d`` one or two, and every other character matches itself.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from cauce.errors import PlanError

YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, FRACTION, AFTERNOON, FIELDS = range(9)
"""Indexes of the parsed fields of a cell. ``AFTERNOON`` is 0 for AM, 1 for PM."""

LITERAL, NUMBER, SHORT_YEAR, MONTH_NAME, HALF, OFFSET = range(6)
"""Steps. Each is a row of four numbers: the step, its byte or field, the minimum and maximum number of digits."""

_DIRECTIVES: dict[str, tuple[int, int, int, int, str]] = {
    "Y": (NUMBER, YEAR, 4, 4, "YYYY"),
    "y": (SHORT_YEAR, YEAR, 2, 2, "YY"),
    "m": (NUMBER, MONTH, 2, 2, "MM"),
    "-m": (NUMBER, MONTH, 1, 2, "M"),
    "b": (MONTH_NAME, MONTH, 0, 0, "Mon"),
    "d": (NUMBER, DAY, 2, 2, "DD"),
    "-d": (NUMBER, DAY, 1, 2, "D"),
    "H": (NUMBER, HOUR, 2, 2, "HH"),
    "-H": (NUMBER, HOUR, 1, 2, "H"),
    "I": (NUMBER, HOUR, 2, 2, "hh"),
    "-I": (NUMBER, HOUR, 1, 2, "h"),
    "M": (NUMBER, MINUTE, 2, 2, "MM"),
    "S": (NUMBER, SECOND, 2, 2, "SS"),
    "f": (NUMBER, FRACTION, 1, 9, "f"),
    "p": (HALF, AFTERNOON, 0, 0, "AM/PM"),
    "z": (OFFSET, -1, 0, 0, "±HH:MM"),
}
_NAMES = ", ".join(f"%{name}" for name in _DIRECTIVES)


class TimeFormat:
    """A validated format: it has a complete date, and no field twice."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._names = tuple(_directives(text))
        directives = [_DIRECTIVES[name] for name in self._names if name in _DIRECTIVES]
        fields = [each[1] for each in directives]
        self.has_time = any(each not in (YEAR, MONTH, DAY) for each in fields)
        self.has_offset = OFFSET in [each[0] for each in directives]
        self.twelve_hours = "p" in self._names
        if len(set(fields)) < len(fields):
            raise PlanError(f"format {text!r} has the same date or time field twice")
        if not {YEAR, MONTH, DAY} <= set(fields):
            raise PlanError(f"format {text!r} needs a year (%Y), a month (%m) and a day (%d)")
        if self.twelve_hours != bool({"I", "-I"} & set(self._names)):
            raise PlanError(f"format {text!r}: %I and %p must be used together; use %H for a 24-hour clock")
        self._check_time(set(fields))

    def _check_time(self, fields: set[int]) -> None:
        order = [HOUR, MINUTE, SECOND, FRACTION]
        given = [each in fields for each in order]
        if given != sorted(given, reverse=True):
            raise PlanError(f"format {self.text!r} has minutes without hours, or seconds without minutes")
        if self.has_offset and self._names[-1] != "z":
            raise PlanError(f"format {self.text!r}: %z must be at the end")

    @property
    def precision(self) -> str:
        """The resolution of the format, as a Polars duration."""
        return "1us" if "f" in self._names else "1s" if "S" in self._names else "1m" if "M" in self._names else "1h"

    @cached_property
    def shown(self) -> str:
        """The format as shown to users: ``DD/MM/YYYY HH:MM``."""
        return "".join(_DIRECTIVES[name][4] if name in _DIRECTIVES else name[1:] for name in self._names)

    @cached_property
    def program(self) -> npt.NDArray[np.int32]:
        steps: list[tuple[int, ...]] = []
        for name in self._names:
            if name in _DIRECTIVES:
                steps.append(_DIRECTIVES[name][:4])
            else:
                steps += [(LITERAL, byte, 0, 0) for byte in name[1:].encode()]
        return np.array(steps, np.int32).reshape(-1, 4)


def _directives(text: str) -> list[str]:
    """Names of directives; a literal character is marked with ``=``."""
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "%":
            found.append("=" + text[at])
            at += 1
            continue
        size = 2 if text.startswith("-", at + 1) else 1
        name = text[at + 1 : at + 1 + size]
        if name == "%":
            name = "=%"
        elif name not in _DIRECTIVES:
            raise PlanError(f"format {text!r}: unknown directive %{name}; expected one of {_NAMES}, %%")
        found.append(name)
        at += 1 + size
    return found
