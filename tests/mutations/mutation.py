"""The declaration of a mutation: which lines it replaces, and which tests must detect it."""

from __future__ import annotations

from dataclasses import dataclass

DETECTED_BY = ("AssertionError", "Failed")
"""Exceptions by which a test detects a mutation: its assertions, and `pytest.raises` where nothing was raised."""
TIMEOUT_S = 180.0
"""Of the tests of one mutation. Most take a few seconds."""


@dataclass(frozen=True)
class Replacement:
    """Replaces a text that occurs exactly once in a file of the project."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutation:
    """An old behaviour. Each entry of `tests` is a node id, or the part of one before the parameters: with the mutation
    at least one test of each entry must fail, in its call phase, by an assertion or by an exception in `raises`. If it
    `hangs`, running until the timeout is a failure too."""

    name: str
    old_behaviour: str
    replacements: tuple[Replacement, ...]
    tests: tuple[str, ...]
    raises: tuple[str, ...] = ()
    timeout_s: float = TIMEOUT_S
    hangs: bool = False

    @property
    def accepted(self) -> tuple[str, ...]:
        return (*DETECTED_BY, *self.raises)


@dataclass(frozen=True)
class Attack:
    """An attack, and the mutations of the defences against it."""

    heading: str
    mutations: tuple[Mutation, ...]


def in_file(file: str, *pairs: tuple[str, str]) -> tuple[Replacement, ...]:
    """Replacements of old texts by new ones in one file of `src/cauce`."""
    return tuple(Replacement(f"src/cauce/{file}", old, new) for old, new in pairs)
