"""Parses plain command lines without Typer, whose import and preparation take a tenth of the time of a small command.

Takes only what has one meaning: options in full, each once, with plain values, and neither variables nor a
configuration file that set others. Everything else, and every mistake, is left to Typer, so that messages are its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from cauce.cli.parameters.declared import Declared

_DIGITS = 9
"""Longer numbers are left to Typer."""


class NotPlain(Exception):
    """The command line is left to Typer."""


@dataclass(frozen=True)
class Parameter:
    """A field of a struct of options, as it is declared."""

    name: str
    kind: Any
    is_list: bool
    declared: Declared

    @property
    def flags(self) -> dict[str, bool]:
        """The options that set it, with their values if it is a truth value."""
        option = self.name.replace("_", "-")
        if self.kind is bool and not self.declared.names:
            return {f"--{option}": True, f"--no-{option}": False}
        return dict.fromkeys(self.declared.names or (f"--{option}",), True)

    def value(self, text: str) -> Any:
        if self.kind is str:
            return text
        if self.kind is Path:
            return _path(text)
        if self.kind is int:
            return self._number(text)
        raise NotPlain

    def _number(self, text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
            raise NotPlain
        number, settings = int(text), self.declared.settings
        if not settings.get("min", number) <= number <= settings.get("max", number):
            raise NotPlain
        return number


@dataclass(frozen=True)
class Parsed:
    structs: Mapping[type[Any], Any]
    given: frozenset[str]
    """The names of the parameters that are on the command line."""


def parse(words: Sequence[str], structs: Sequence[type[Any]]) -> Parsed:
    """The options of a command, as instances of its structs. Raises NotPlain for Typer."""
    parameters = {name: each for struct in structs for name, each in _parameters(struct)}
    values = _values(words, parameters)
    made = {struct: _made(struct, values) for struct in structs}
    return Parsed(made, frozenset(values))


def _values(words: Sequence[str], parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    options = {flag: each for each in parameters.values() if each.declared.is_option for flag in each.flags}
    arguments = iter([each for each in parameters.values() if not each.declared.is_option])
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            _set(values, _next(arguments), word)
            continue
        flag, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
        option = options.get(flag)
        if option is None or option.declared.callback_of is not None:
            raise NotPlain
        if option.kind is bool:
            _set_flag(values, option, flag, equals)
        else:
            _set(values, option, text if equals else _text(rest))
    return values


def _next(arguments: Iterator[Parameter]) -> Parameter:
    for each in arguments:
        return each
    raise NotPlain


def _text(rest: Iterator[str]) -> str:
    text = next(rest, "-")
    if text.startswith("-"):
        raise NotPlain
    return text


def _set(values: dict[str, Any], parameter: Parameter, text: str) -> None:
    if parameter.is_list:
        values.setdefault(parameter.name, []).append(parameter.value(text))
    elif parameter.name in values:
        raise NotPlain
    else:
        values[parameter.name] = parameter.value(text)


def _set_flag(values: dict[str, Any], option: Parameter, flag: str, equals: str) -> None:
    if equals or option.name in values:
        raise NotPlain
    values[option.name] = option.flags[flag]


def _made(struct: type[Any], values: Mapping[str, Any]) -> Any:
    own = {each.name: each.default for each in fields(struct)}
    found = {name: values.get(name, default) for name, default in own.items()}
    if MISSING in found.values():
        raise NotPlain
    return struct(**found)


def _parameters(struct: type[Any]) -> Iterator[tuple[str, Parameter]]:
    hints = get_type_hints(struct, include_extras=True)
    for each in fields(struct):
        kind, declared, *_ = get_args(hints[each.name])
        # `X | None`: the default is None.
        kind = next((part for part in get_args(kind) if part is not type(None)), kind) if _is_optional(kind) else kind
        is_list = getattr(kind, "__origin__", None) is list
        yield each.name, Parameter(each.name, get_args(kind)[0] if is_list else kind, is_list, declared)


def _is_optional(kind: Any) -> bool:
    return type(None) in get_args(kind)


def _path(text: str) -> Path:
    if os.path.exists(text) and not os.access(text, os.R_OK):
        raise NotPlain
    return Path(text)
