"""The layout of `--help`: commands in sections, plain placeholders, no truncated text. Must not load any library that a
command would not load anyway."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Parameter
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperGroup

from cauce.cli.configuration import FILE, VARIABLE
from cauce.cli.configured import ConfiguredCommand
from cauce.cli.parameters.plain_values import with_plain_values
from cauce.cli.parameters.structs import with_fields
from cauce.process.masking import masked_text

ANSWER = "Answer queries"
SERVICE = "Run a service"
CLIENT = "Use a service"
OPERATE = "Operate a service"
TRY = "Try and test"
SETUP = "Set up"
SECTIONS = (ANSWER, SERVICE, CLIENT, OPERATE, TRY, SETUP)
"""In the order in which the help lists them."""
OTHERS = "Commands"
"""The only section of a group without sections."""

WIDTH = 100
"""Maximum width of the help, even on wider terminals: longer lines are hard to read."""
NARROW = 52
_WHOLE = 10_000
"""A length limit that no short description reaches: descriptions wrap instead of being truncated."""


ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        help="file with options, such as cauce.toml",
        metavar="FILE",
        envvar=VARIABLE,
        show_default=f"{FILE}, if it exists",
        expose_value=False,
    ),
]
_CONFIG = Parameter("config", Parameter.KEYWORD_ONLY, default=None, annotation=ConfigOption)


@contextmanager
def _clearer_errors() -> Iterator[None]:
    """Improves error messages of the parser: masks passwords in quoted arguments, and describes a missing one."""
    try:
        yield
    except Exception as problem:
        message, parameter = getattr(problem, "message", None), getattr(problem, "param", None)
        if message == "" and getattr(parameter, "help", None):
            problem.message = f"Expected: {parameter.help}."  # type: ignore[attr-defined, union-attr]
        elif isinstance(message, str):
            problem.message = masked_text(message)  # type: ignore[attr-defined]
        raise


class HelpfulCommand(ConfiguredCommand):
    """A command whose arguments are shown as `DATASET`, not as Python types."""

    def get_params(self, ctx: Any) -> list[Any]:
        return with_plain_values(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _clearer_errors():
            return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = [self.options_metavar] if self.options_metavar else []
        return [*pieces, *(_usage(each) for each in self.params if isinstance(each, TyperArgument))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        # The variables have regular names, which docs/configuration.md lists; the help shows only the others.
        ctx.auto_envvar_prefix = None
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is not None and isinstance(each, TyperArgument):
                rows["Arguments"].append((_name(each), record[1]))
            elif record is not None:
                rows["Options"].append(record)
        for title, listed in rows.items():
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)


class SectionedGroup(TyperGroup):
    """A group that lists its commands by section, each with its complete first sentence."""

    def get_params(self, ctx: Any) -> list[Any]:
        return with_plain_values(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        with _clearer_errors():
            return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        shown = {name: self.commands[name] for name in self.list_commands(ctx) if not self.commands[name].hidden}
        width = max(map(len, shown), default=0)
        sections = {name: _section(command) for name, command in shown.items()}
        for section in (*SECTIONS, OTHERS):
            rows = [
                (name.ljust(width), command.get_short_help_str(_WHOLE))
                for name, command in shown.items()
                if sections[name] == section
            ]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)


class CommandLine(typer.Typer):
    """A group of commands with this layout and `-h`. Does not load Rich."""

    def __init__(self, help: str, *, prefix: str = "", **options: Any) -> None:
        """`prefix`: of the variables that set options; for the outermost group alone."""
        settings: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH}
        if (columns := shutil.get_terminal_size().columns) < NARROW:
            # The library would write lines of 50 characters.
            settings["terminal_width"] = columns - 1
        if prefix:
            settings |= {"auto_envvar_prefix": prefix, "obj": self}
        super().__init__(
            help=help,
            cls=SectionedGroup,
            no_args_is_help=True,
            add_completion=False,
            pretty_exceptions_enable=False,
            rich_markup_mode=None,
            context_settings=settings,
            **options,
        )

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        register = super().command(name, cls=HelpfulCommand, **options)
        # A command that passes its arguments on has options of its own.
        more = {} if options.get("context_settings") else {"config": _CONFIG}
        return lambda function: register(with_fields(function, more))


def _section(command: object) -> str:
    panel = getattr(command, "rich_help_panel", None)
    return panel if isinstance(panel, str) and panel in SECTIONS else OTHERS


def _name(argument: TyperArgument) -> str:
    return argument.metavar or (argument.name or "").upper()


def _usage(argument: TyperArgument) -> str:
    name = _name(argument) + ("..." if argument.nargs != 1 else "")
    return name if argument.required else f"[{name}]"
