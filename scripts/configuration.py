"""Puts the table of all options into docs/configuration.md: `.venv/bin/python scripts/configuration.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

from cauce.cli.configuration import PREFIX
from cauce.cli.configured import options_of, variable_of
from cauce.cli.main import app

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"
TYPES = {bool: "true or false", int: "whole number", float: "number"}
_PLACE = re.compile(r"(<!-- options -->\n).*?(<!-- end of options -->)", re.DOTALL)


def with_table(page: str) -> str:
    """The page, with the table as it is now."""
    return _PLACE.sub(lambda found: f"{found[1]}{table()}{found[2]}", page)


def table() -> str:
    head = "| key | variable | type | default |\n|---|---|---|---|\n"
    return head + "".join(_rows("", typer.main.get_command(app)))


def _rows(words: str, command: Any) -> Iterator[str]:
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from _rows(f"{words} {name}".strip(), inner)
    if hasattr(command, "commands"):
        return
    prefix = "_".join([PREFIX, *words.split()]).upper().replace("-", "_")
    for name, option in options_of(command).items():
        key = ".".join([*words.split(), name])
        yield f"| `{key}` | `{variable_of(option, prefix)}` | {_type(option)} | {_default(option)} |\n"


def _type(option: Any) -> str:
    annotation = option.type_descriptor.annotation
    if get_origin(annotation) is not list:
        return TYPES.get(annotation, "path" if annotation is Path else "text")
    if "=" in (option.metavar or ""):
        return "table, or list of texts"
    return "list of paths" if get_args(annotation) == (Path,) else "list of texts"


def _default(option: Any) -> str:
    if option.required:
        return "required"
    if isinstance(option.show_default, str):
        return option.show_default
    if option.default in (None, "", Path()):
        return ""
    return f"`{str(option.default).lower() if isinstance(option.default, bool) else option.default}`"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
