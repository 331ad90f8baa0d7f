"""A command whose options may also be set by variables and in the configuration file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

from cauce.cli.configuration import ALTERNATIVES, META, SECRETS, Configuration, defaults, find, key_of, read, tree_of
from cauce.cli.options import FABRIC, FABRIC_FILE, TOKEN, TOKEN_FILE
from cauce.errors import UsageError


class ConfiguredCommand(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing and "config" in (names := {each.name for each in self.params}):
            given, _, _ = self.make_parser(ctx).parse_args(list(args))
            self._configure(ctx, {name for name in given if name in names}, given.get("config"))
        with _sources(ctx):
            return super().parse_args(ctx, args)

    def _configure(self, ctx: Any, given: set[str], file: str | None) -> None:
        found = find(ctx.meta.get(META) if file is None else file)
        values: dict[str, Any] = {}
        if found is not None:
            configuration = read(found, tree_of(ctx.find_root().obj))
            values = defaults(configuration, words_of(ctx), options_of(self))
            ctx.meta[META] = configuration
            _warn_of_secrets(configuration, values)
        for name in given & ALTERNATIVES.keys():
            values.pop(ALTERNATIVES[name], None)
        ctx.default_map = values


def words_of(ctx: Any) -> list[str]:
    """The words of a command after the name of the program."""
    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, ctx.info_name)
        ctx = ctx.parent
    return words


def options_of(command: Any) -> dict[str, Any]:
    """The options that variables and the file can set."""
    return {
        each.name: each
        for each in command.params
        if isinstance(each, TyperOption) and each.expose_value and not each.hidden
    }


def variable_of(option: Any, prefix: str) -> str:
    return str(option.envvar or f"{prefix}_{option.name.upper()}")


def from_command_line(context: typer.Context, name: str) -> bool:
    return _source(context, name) == "COMMANDLINE"


def from_file(context: typer.Context, name: str) -> bool:
    return _source(context, name) == "DEFAULT_MAP"


def _source(context: typer.Context, name: str) -> str:
    source = context.get_parameter_source(name)
    return source.name if source is not None else ""


@contextmanager
def _sources(ctx: Any) -> Iterator[None]:
    """An error about a value that is not from the command line names the variable, or the file and the key."""
    try:
        yield
    except Exception as problem:
        option, message = getattr(problem, "param", None), getattr(problem, "message", None)
        if not isinstance(option, TyperOption) or not message:
            raise
        configuration = ctx.meta.get(META)
        if isinstance(configuration, Configuration) and from_file(ctx, option.name):
            key = key_of(configuration, words_of(ctx), option.name)
            raise configuration.error(f"invalid value of {key}: {message}") from None
        if _source(ctx, option.name) == "ENVIRONMENT":
            variable = variable_of(option, ctx.auto_envvar_prefix)
            raise UsageError(f"invalid value of the variable {variable}: {message}") from None
        raise


def _warn_of_secrets(configuration: Configuration, values: dict[str, Any]) -> None:
    secret = [name for name in SECRETS if values.get(name)]
    if secret and not configuration.is_private:
        from cauce.terminal.console import warn

        path = configuration.path
        warn(f"other users can read {path}, which sets {' and '.join(secret)}; restrict it with: chmod 600 {path}")


def checked_fabric(context: typer.Context, parameter: typer.CallbackParam, value: str) -> str:
    address = _secret(context, parameter, value, FABRIC_FILE)
    if address and not context.resilient_parsing:
        from cauce.fabric.address import check, has_password

        check(address)
        if has_password(address):
            _warn_of_argument(context, parameter, "the password in --fabric", FABRIC)
    return address


def checked_token(context: typer.Context, parameter: typer.CallbackParam, value: str) -> str:
    token = _secret(context, parameter, value, TOKEN_FILE)
    if token and not context.resilient_parsing:
        _warn_of_argument(context, parameter, "the token in --token", TOKEN)
    return token


def _secret(context: typer.Context, parameter: typer.CallbackParam, given: str, file_variable: str) -> str:
    """Returns the value of an option, or the content of the file that the variable names. A variable has precedence
    over the configuration file."""
    file = os.environ.get(file_variable)
    if not file or (given and not from_file(context, parameter.name or "")):
        return given
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"{file_variable}: {file} cannot be read: {problem}") from None


def _warn_of_argument(context: typer.Context, parameter: typer.CallbackParam, what: str, variable: str) -> None:
    if from_command_line(context, parameter.name or ""):
        from cauce.terminal.console import warn

        warn(f"other users of this machine can see {what} while the command starts; set {variable} or {variable}_FILE")
