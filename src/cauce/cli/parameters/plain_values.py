"""Converts the plain values of options without Pydantic, with which Typer converts all of them: to load it and to build
its validators takes a tenth of a second, in every command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, get_args, get_origin

_OTHER = object()
"""Stands for a value that Typer itself must convert or refuse."""
_PLAIN_PATH = {
    "exists": False,
    "file_okay": True,
    "dir_okay": True,
    "writable": False,
    "resolve_path": False,
    "allow_dash": False,
    "path_type": None,
}
_DIGITS = 9
"""Longer numbers are left to Typer."""


def with_plain_values(parameters: list[Any]) -> list[Any]:
    """Lets parameters of a command convert texts, flags, paths and small whole numbers by themselves. Everything else,
    and every value that is wrong, goes to Typer, so that values and messages are its own."""
    for parameter in parameters:
        if hasattr(parameter, "get_runtime_param") and "get_runtime_param" not in vars(parameter):
            plain = _PlainParameter(parameter)
            vars(parameter)["get_runtime_param"] = lambda plain=plain: plain
    return parameters


class _PlainParameter:
    def __init__(self, parameter: Any) -> None:
        self._original = parameter.get_runtime_param
        self._type = parameter.type_descriptor.annotation
        self._info = parameter.type_descriptor.parameter_info

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        converted = self._converted(value, several=param.multiple or param.nargs == -1)
        return self._original().coerce(value, param=param, ctx=ctx) if converted is _OTHER else converted

    def _converted(self, value: Any, *, several: bool) -> Any:
        if value is None:
            return () if several else None
        if self._info.parser is not None:
            return _OTHER
        if not several:
            return _one(value, self._type, self._info)
        if get_origin(self._type) is not list or not isinstance(value, list | tuple):
            return _OTHER
        each = [_one(item, get_args(self._type)[0], self._info) for item in value]
        return _OTHER if _OTHER in each else each


def _one(value: Any, wanted: Any, info: Any) -> Any:
    if wanted is str:
        return value if type(value) is str else _OTHER
    if wanted is Path:
        return _path(value, info)
    if wanted is int or wanted is float:
        return _number(value, wanted, info)
    return _OTHER


def _path(value: Any, info: Any) -> Any:
    if not isinstance(value, str | Path) or any(getattr(info, name) != plain for name, plain in _PLAIN_PATH.items()):
        return _OTHER
    unreadable = info.readable and os.path.exists(value) and not os.access(value, os.R_OK)
    return _OTHER if unreadable else Path(value)


def _number(value: Any, wanted: type, info: Any) -> Any:
    if wanted is int and isinstance(value, str) and len(value) <= _DIGITS and value.isascii() and value.isdigit():
        value = int(value)
    fits = type(value) is wanted and (info.min is None or value >= info.min) and (info.max is None or value <= info.max)
    return value if fits and not info.clamp else _OTHER
