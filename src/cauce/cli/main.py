"""The command line: registers all commands."""

from __future__ import annotations

import gc
import os
import sys
from copy import copy
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from cauce import __version__
from cauce.cli.completion import COMPLETE, completion
from cauce.cli.configuration import META, PREFIX, Configuration
from cauce.cli.configured import from_command_line
from cauce.cli.help import ANSWER, SERVICE, SETUP, TRY, CommandLine
from cauce.cli.lab.broker import app as broker_app
from cauce.cli.lab.chaos import app as chaos_app
from cauce.cli.lab.deploy import app as deploy_app
from cauce.cli.mcp import McpOptions
from cauce.cli.options import (
    ConnectionOptions,
    FileOptions,
    JsonOption,
    PartitionsOption,
    QueryOptions,
    RunOptions,
    SeedOption,
    TypeOption,
    dataset_names,
)
from cauce.cli.remote.client_commands import register as register_service
from cauce.cli.remote.cluster_commands import register as register_cluster
from cauce.cli.serve import register as register_serve
from cauce.cli.sql import SqlOptions
from cauce.errors import UsageError
from cauce.process.limits import cores
from cauce.terminal.invocation import PROGRAM

app = CommandLine("Answer queries over big files, exactly, even if any process is killed.", prefix=PREFIX)

app.add_typer(chaos_app, name="chaos", rich_help_panel=TRY)
app.add_typer(broker_app, name="broker", rich_help_panel=TRY)
app.add_typer(deploy_app, name="deploy", rich_help_panel=SERVICE)


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"cauce {__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version and exit.",
            callback=_print_version,
            is_eager=True,
            allow_from_autoenv=False,
        ),
    ] = False,
    config: Annotated[
        str | None, typer.Option(help="file with options, for the command", metavar="FILE", hidden=True)
    ] = None,
) -> None:
    context.meta[META] = config
    if context.invoked_subcommand not in ("run", "sql"):
        # They enable it themselves, after they have loaded everything that workers need.
        gc.enable()


@app.command(rich_help_panel=ANSWER)
def run(files: FileOptions, queries: QueryOptions, options: RunOptions) -> None:
    """Answer the queries of a dataset over the files in a directory.

    If the run is interrupted or killed, the same command resumes it.
    """
    from cauce.cli.run import run_command

    run_command(files, queries, options)


@app.command(rich_help_panel=ANSWER)
def sql(context: typer.Context, options: SqlOptions, execution: RunOptions, connection: ConnectionOptions) -> None:
    """Answer SQL over the files in a directory, or in a service.

    With --on, the statements read a dataset that a service keeps. All statements are one job. `-- name: top_customers`
    before a statement names its answer. With --out, the same command resumes a run that was interrupted or killed.
    """
    from cauce.cli.sql import sql_command

    sql_command(options, execution, connection, partial(from_command_line, context))


@app.command(rich_help_panel=ANSWER)
def schema(
    data: Annotated[Path, typer.Argument(help="directory with the files", metavar="DIR")],
    type: TypeOption = None,
) -> None:
    """Print the types of the columns in files, as TOML."""
    from cauce.cli.sql import schema_command

    schema_command(data, type)


@app.command(rich_help_panel=ANSWER)
def explain(queries: QueryOptions, partitions: PartitionsOption = 0) -> None:
    """Print the plan of queries: stages, keys, and what they share."""
    from cauce.datasets import load
    from cauce.plan.explain import explain as explain_plan

    chosen = load(queries.dataset)
    plan = chosen.plan(queries.names, queries.parameters(chosen), partitions or cores())
    sys.stdout.write(explain_plan(plan))


@app.command(rich_help_panel=ANSWER)
def datasets(connection: ConnectionOptions, json: JsonOption = False) -> None:
    """List the datasets with their tables, files and queries.

    With --gateway, list those that a service keeps for you too. --json lists only these.
    """
    if json and not connection.gateway:
        raise UsageError("--json lists the datasets that a service keeps; name it with --gateway")
    if not json:
        from cauce.cli.datasets import list_datasets

        list_datasets()
    if connection.gateway:
        from cauce.cli.remote.kept_commands import datasets_command

        datasets_command(connection, json=json)


@app.command(rich_help_panel=TRY)
def demo(
    out: Annotated[Path, typer.Option(help="directory for data and answers", metavar="DIR")] = Path("out/demo"),
    scale: Annotated[
        float, typer.Option(help="size of the data; 1 is that of the real files", min=0.0005, max=1.0, metavar="X")
    ] = 0.002,
    seed: SeedOption = 7,
    serve: Annotated[
        bool, typer.Option("--serve", help="then start a service with a dashboard and clients, and kill its processes")
    ] = False,
    port: Annotated[
        int, typer.Option(help="with --serve: port of the service (0: any free one)", min=0, max=65535, metavar="PORT")
    ] = 8080,
    kill_every: Annotated[
        float, typer.Option(help="with --serve: time between two kills (0: no kills)", min=0.0, metavar="SECONDS")
    ] = 5.0,
) -> None:
    """Generate small data and answer the queries of all datasets."""
    from cauce.cli.lab.demo import demo_command, demo_serve_command

    if serve:
        demo_serve_command(out, scale, seed, port, kill_every)
    else:
        demo_command(out, scale, seed)


@app.command(rich_help_panel=TRY)
def generate(
    dataset: Annotated[
        str,
        typer.Argument(help="books, movies, flights or coffee", metavar="DATASET", autocompletion=dataset_names),
    ],
    out: Annotated[Path, typer.Option(help="directory to write the files into", metavar="DIR")],
    scale: Annotated[
        float, typer.Option(help="size of the data; 1 is that of the real files", min=0.0, metavar="X")
    ] = 0.01,
    seed: Annotated[int, typer.Option(help="the same seed gives the same bytes", min=0, metavar="N")] = 0,
) -> None:
    """Write synthetic files for the built-in datasets."""
    from cauce.cli.lab.generate import generate_command

    generate_command(dataset, out, scale, seed)


@app.command(rich_help_panel=SERVICE)
def mcp(options: McpOptions, connection: ConnectionOptions) -> None:
    """Serve tables to programs that speak the Model Context Protocol.

    The tables are those of a directory (--data), or the datasets that a service keeps (--gateway). Needs the extra
    cauce[mcp].
    """
    from cauce.cli.mcp import mcp_command

    mcp_command(options, connection)


register_serve(app)
register_service(app)
register_cluster(app)


@app.command(
    rich_help_panel=TRY,
    add_help_option=False,
    options_metavar="[OPTIONS]",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def bench(context: typer.Context) -> None:
    """Measure Cauce beside DuckDB, Polars, pandas, Dask and PySpark."""
    package = Path(__file__).parents[1]
    clone, installed = package.parents[1], package / "lab" / "benchmarks"
    sys.path.insert(0, str(clone if (clone / "bench" / "__main__.py").is_file() else installed))
    from bench.__main__ import main

    raise typer.Exit(main(context.args))


app.command(rich_help_panel=SETUP)(completion)


@app.command(rich_help_panel=SETUP)
def config(
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(help="a command, such as serve or broker start", metavar="COMMAND")
    ] = None,
) -> None:
    """Check the configuration file, or show the options of a command.

    The options are shown with their values and the variable or the key that sets them.
    """
    from cauce.cli.config import config_command

    found = context.meta[META]
    config_command(app, words or [], found if isinstance(found, Configuration) else None)


def _only(command: str) -> typer.Typer:
    """Returns the command line with only `command`: building all commands takes a tenth of a second."""
    asked = [each for each in app.registered_commands if each.callback and each.callback.__name__ == command]
    groups = [each for each in app.registered_groups if each.name == command]
    if not groups and (not asked or asked[0].name not in (None, command)):
        return app
    part = copy(app)
    part.registered_commands, part.registered_groups = asked, groups
    return part


def run_command_line(words: list[str]) -> None:
    """Parses the arguments of this process with Typer and runs the command. Ends with SystemExit."""
    if COMPLETE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    _only(words[0] if words else "")(prog_name=os.environ.get(PROGRAM) or "cauce", complete_var=COMPLETE)
