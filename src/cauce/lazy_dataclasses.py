"""Compiles the methods of dataclasses at their first call, and composes no documentation for them.

A process of Cauce declares some four hundred dataclasses and uses a small part of their methods. The standard library
compiles six functions for each frozen one, which took a fifth of the start-up time of a command.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def compile_at_first_call() -> None:
    """From now on, every method that `dataclass` generates is a function that compiles the method when it is called and
    replaces itself by it. Only for a process of our own: this replaces an internal function of the standard library.

    From Python 3.13 on, a dataclass compiles all its methods together, at a lower cost, and nothing is changed. The
    versions before get security fixes only, so that the internal functions stay as they are."""
    if sys.version_info < (3, 13):
        vars(dataclasses)["_create_fn"] = _deferring(vars(dataclasses)["_create_fn"])
        vars(dataclasses)["_process_class"] = _without_signature(vars(dataclasses)["_process_class"])


def _without_signature(process: Function) -> Function:
    """A class without a docstring gets its name as one: the standard library would print the signature of its
    constructor, which takes as long as everything else that it does for a class."""

    def process_class(made: type, *arguments: Any, **named: Any) -> Any:
        if not made.__doc__:
            made.__doc__ = made.__name__
        return process(made, *arguments, **named)

    return process_class


def _deferring(create: Function) -> Function:
    def deferred(name: str, *arguments: Any, **named: Any) -> Function:
        made: list[Function] = []

        def method(self: object, /, *given: Any, **given_named: Any) -> Any:
            if not made:
                # Two threads may both compile it; the results are alike.
                made.append(_compiled(method, lambda: create(name, *arguments, **named)))
                _replace(method, made[0], type(self))
            return made[0](self, *given, **given_named)

        method.__name__ = name
        return method

    return deferred


def _compiled(stand_in: Function, compile: Callable[[], Function]) -> Function:
    method = compile()
    method.__qualname__ = stand_in.__qualname__
    return method


def _replace(stand_in: Function, method: Function, owner: type) -> None:
    for each in owner.__mro__:
        if each.__dict__.get(stand_in.__name__) is stand_in:
            setattr(each, stand_in.__name__, method)
