"""Commands that take their options as dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from cauce.cli.help import CommandLine


@dataclass(frozen=True, kw_only=True)
class Size:
    count: Annotated[int, typer.Option(help="how many", metavar="N")] = 3


@dataclass(frozen=True, kw_only=True)
class Named(Size):
    name: Annotated[str, typer.Argument(help="a name", metavar="NAME")]
    tags: Annotated[list[str] | None, typer.Option("--tag", help="a tag; repeatable", metavar="TAG")] = None


def run(*arguments: str) -> list[tuple[object, ...]]:
    app = CommandLine("A command.")
    calls: list[tuple[object, ...]] = []

    @app.command()
    def show(named: Named, loud: Annotated[bool, typer.Option("--loud", help="loud")] = False) -> None:
        calls.append((named, loud))

    app(list(arguments), standalone_mode=False)
    return calls


def test_fields_are_options_and_the_command_gets_the_struct() -> None:
    assert run("x", "--count", "5", "--tag", "a", "--tag", "b", "--loud") == [
        (Named(name="x", count=5, tags=["a", "b"]), True)
    ]


def test_fields_that_are_not_given_have_their_defaults() -> None:
    (called,) = run("x")
    assert called == (Named(name="x"), False)


def test_a_field_without_a_default_is_required() -> None:
    with pytest.raises(Exception, match=r"(?i)name"):
        run("--count", "5")
