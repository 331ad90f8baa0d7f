"""`cauce config`: checks the configuration file, and shows the options of a command with their sources."""

from __future__ import annotations

import os
import shlex
from typing import Any

import typer
from rich.table import Table

from cauce.cli.configuration import PREFIX, SECRETS, Configuration, defaults, key_of
from cauce.cli.configured import options_of, variable_of
from cauce.errors import UsageError, unknown
from cauce.process.masking import masked_address
from cauce.terminal.console import console, print_line


def config_command(app: Any, words: list[str], configuration: Configuration | None) -> None:
    root = typer.main.get_command(app)
    if words:
        _show(_found(root, words), words, configuration)
        return
    if configuration is None:
        print_line("there is no configuration file")
        return
    count = _check_values(root, [], configuration)
    print_line(f"{configuration.path}: {count} setting{'s' * (count != 1)}, all valid")


def _found(command: Any, words: list[str]) -> Any:
    for word in words:
        known = getattr(command, "commands", {})
        if word not in known:
            raise unknown("command", " ".join(words), known)
        command = known[word]
    if hasattr(command, "commands"):
        raise UsageError(f"{' '.join(words)} is a group; name one of its commands: {', '.join(command.commands)}")
    return command


def _check_values(command: Any, words: list[str], configuration: Configuration) -> int:
    """Converts every value of the file as its commands would. Returns the number of settings."""
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            _check_values(below, [*words, name], configuration)
        return _count(configuration.content)
    options = options_of(command)
    context = command.make_context(words[-1], [], resilient_parsing=True)
    for name, value in defaults(configuration, words, options).items():
        try:
            options[name].process_value(context, value)
        except Exception as problem:  # noqa: BLE001  (of the parser's own classes, which are not public)
            message = getattr(problem, "message", None) or str(problem)
            key = key_of(configuration, words, name)
            raise configuration.error(f"invalid value of {key} for {' '.join(words)}: {message}") from None
    return 0


def _count(table: Any) -> int:
    return sum(_count(each) if isinstance(each, dict) else 1 for each in table.values())


def _show(command: Any, words: list[str], configuration: Configuration | None) -> None:
    options = options_of(command)
    values = defaults(configuration, words, options) if configuration is not None else {}
    table = Table("option", "value", "set by", header_style="bold cyan", expand=False)
    prefix = "_".join([PREFIX, *words]).upper().replace("-", "_")
    for name, option in options.items():
        variable = variable_of(option, prefix)
        if os.environ.get(variable):
            value, source = os.environ[variable], variable
        elif name in values:
            assert configuration is not None
            value, source = values[name], f"{configuration.path}: {key_of(configuration, words, name)}"
        else:
            value, source = option.default, ""
        table.add_row(option.opts[0], _text(name, value), source)
    console().print(table, soft_wrap=True, crop=False)


def _text(name: str, value: Any) -> str:
    if value is None or value == "":
        return ""
    if name in SECRETS:
        return masked_address(str(value)) if name == "fabric" else "(secret)"
    return shlex.join(map(str, value)) if isinstance(value, list | tuple) else str(value)
