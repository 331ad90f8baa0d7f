"""Declarations of options and arguments that do not load Typer: plain command lines are parsed without it (`direct`).
They take what `typer.Option` and `typer.Argument` take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args, get_origin


@dataclass(frozen=True)
class Declared:
    is_option: bool
    names: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    callback_of: Callable[[], Callable[..., Any]] | None = None
    """Returns the callback that checks the value. Typer reads its signature, so its module loads Typer."""


def Option(*names: str, callback_of: Callable[[], Callable[..., Any]] | None = None, **settings: Any) -> Any:  # noqa: N802
    return Declared(True, names, settings, callback_of)


def Argument(**settings: Any) -> Any:  # noqa: N802
    return Declared(False, (), settings)


def for_typer(annotation: Any) -> Any:
    """The annotation of a parameter, with the declarations of Typer."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, *rest = get_args(annotation)
    made = [_typer_info(each) if isinstance(each, Declared) else each for each in rest]
    return Annotated[(kind, *made)]


def _typer_info(declared: Declared) -> Any:
    import typer

    if not declared.is_option:
        return typer.Argument(**declared.settings)
    callback = None if declared.callback_of is None else declared.callback_of()
    return typer.Option(*declared.names, **declared.settings, callback=callback)
