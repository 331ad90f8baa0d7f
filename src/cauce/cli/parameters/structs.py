"""Commands that take their options as frozen dataclasses. A group of options is declared once, as the fields of a
dataclass, and used by every command that takes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from cauce.cli.parameters.declared import for_typer


def with_fields(
    function: Callable[..., None], more: Mapping[str, inspect.Parameter] | None = None
) -> Callable[..., None]:
    """Returns a command for Typer whose options are the fields of the dataclasses that `function` takes, and `more`,
    which `function` does not get."""
    structs: dict[str, type[Any]] = {}
    options: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation):
            structs[name] = parameter.annotation
            options |= _options(parameter.annotation)
        else:
            annotation = for_typer(parameter.annotation)
            options[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
    if not structs and not more:
        return function
    options |= more or {}

    @wraps(function)
    def command(**given: Any) -> None:
        for name in more or ():
            given.pop(name, None)
        made = {
            name: struct(**{field.name: given.pop(field.name) for field in fields(struct)})
            for name, struct in structs.items()
        }
        function(**made, **given)

    command.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {name: option.annotation for name, option in options.items()}
    return command


def _options(struct: type[Any]) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(struct, include_extras=True)
    return {
        field.name: inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=_default(field), annotation=for_typer(hints[field.name])
        )
        for field in fields(struct)
    }


def _default(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default
