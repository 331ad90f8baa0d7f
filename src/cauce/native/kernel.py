"""Declares kernels, the pieces they are made of, and the instructions that only they can use.

A declaration costs nothing: a kernel is loaded, or compiled where that has never been done, when it is first called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from cauce.native.types import Type

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Piece:
    """A function that kernels call, compiled into them."""

    function: Callable[..., Any]
    inline: bool = False


@dataclass(frozen=True)
class Instruction:
    """What Python has no words for: see ``instructions``, where it is found by its name."""

    name: str


class Kernel:
    """A function as callers see it: Python's numbers and NumPy's arrays in, a number or nothing out."""

    def __init__(self, function: Callable[..., Any], result: Type, arguments: tuple[Type, ...]) -> None:
        self.function = function
        self.result = result
        self.arguments = arguments
        self.name = f"{function.__module__}.{function.__name__}"
        self.__doc__ = function.__doc__
        self._run: Callable[..., int] | None = None
        declared.append(self)

    def __call__(self, *given: Any) -> Any:
        run = self._run or self.load()
        values: list[Any] = []
        for kind, value in zip(self.arguments, given, strict=True):
            values += kind.values(value)
        answer = cast(Any, self.result).native()
        # The second argument is the place for a Python exception; no kernel raises one.
        trouble = ctypes.c_void_p()
        status = run(ctypes.byref(answer), ctypes.byref(trouble), *values)
        if status not in (0, -2):
            raise RuntimeError(f"the kernel {self.name} ended with {status}")
        return answer.value

    def load(self) -> Callable[..., int]:
        from cauce.native.store import address_of

        natives = [native for kind in self.arguments for native in kind.natives()]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *natives)
        self._run = run = prototype(address_of(self))
        return run


declared: list[Kernel] = []
"""Every kernel of the modules that have been imported."""


def kernel(result: Type, *arguments: Type) -> Callable[[F], F]:
    """Makes a kernel of a function, for these types alone: no other can make a worker compile in mid-job."""

    def declare(function: F) -> F:
        return cast(F, Kernel(function, result, arguments))

    return declare


def piece(function: F) -> F:
    return cast(F, Piece(function))


def inline_piece(function: F) -> F:
    """A piece that is worth its place wherever it is called."""
    return cast(F, Piece(function, inline=True))


def instruction(name: str) -> Any:
    return Instruction(name)
