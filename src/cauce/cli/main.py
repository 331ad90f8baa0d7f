"""The command line: all commands, and the exit code of each outcome."""

from __future__ import annotations

import gc
import os
import sys
from copy import copy
from pathlib import Path
from typing import Annotated

import typer

from cauce import __version__
from cauce.cli.broker import app as broker_app
from cauce.cli.chaos import app as chaos_app
from cauce.cli.cluster import register as register_cluster
from cauce.cli.completion import COMPLETE, completion
from cauce.cli.crash import crashed, restore_terminal
from cauce.cli.deploy import app as deploy_app
from cauce.cli.help import ANSWER, SERVICE, SETUP, TRY, CommandLine
from cauce.cli.options import (
    AttemptsOption,
    DataOption,
    DatasetArgument,
    FabricOption,
    FormatOption,
    MaxRejectsOption,
    OutOption,
    ParamOption,
    PartitionsOption,
    PowerOption,
    QueriesOption,
    SeedOption,
    SentimentOption,
    WorkersOption,
    dataset_names,
)
from cauce.cli.output import fail, warn
from cauce.cli.serve import register as register_serve
from cauce.cli.service import register as register_service
from cauce.errors import CauceError, JobFailed, UsageError

app = CommandLine("Answer queries over big files, exactly, even if any process is killed meanwhile.")

app.add_typer(chaos_app, name="chaos", rich_help_panel=TRY)
app.add_typer(broker_app, name="broker", rich_help_panel=TRY)
app.add_typer(deploy_app, name="deploy", rich_help_panel=SERVICE)


def names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"cauce {__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand != "run":
        # `run` does it itself, when all that its workers need is loaded.
        gc.enable()


@app.command(rich_help_panel=ANSWER)
def run(
    dataset: DatasetArgument,
    data: DataOption,
    out: OutOption = Path("answers"),
    queries: QueriesOption = "",
    format: FormatOption = "csv",
    partitions: PartitionsOption = 0,
    workers: WorkersOption = 0,
    sentiment: SentimentOption = "",
    param: ParamOption = None,
    work: Annotated[
        Path | None, typer.Option(help="directory for temporary files", metavar="DIR", show_default="in --out")
    ] = None,
    power_safe: PowerOption = False,
    part_bytes: Annotated[
        int,
        typer.Option(
            help="size of a part of a table", min=0, max=2**30, metavar="BYTES", show_default="by the size of the files"
        ),
    ] = 0,
    journal: Annotated[
        bool, typer.Option(help="record progress, so that a crashed task resumes at a checkpoint")
    ] = True,
    attempts: AttemptsOption = 3,
    fabric: FabricOption = "",
    max_rejects: MaxRejectsOption = "",
) -> None:
    """Answer queries over the files in a directory.

    If the run is interrupted or killed, the same command resumes it.
    """
    from cauce.cli.run import run_command

    run_command(
        dataset,
        data,
        out,
        names(queries),
        format,
        partitions or cores(),
        workers or cores(),
        sentiment,
        param or [],
        work,
        "power" if power_safe else "process",
        part_bytes,
        journal,
        attempts,
        fabric,
        max_rejects,
    )


@app.command(rich_help_panel=ANSWER)
def explain(
    dataset: DatasetArgument,
    queries: QueriesOption = "",
    partitions: PartitionsOption = 0,
    sentiment: SentimentOption = "",
    param: ParamOption = None,
) -> None:
    """Print the plan of queries: stages, keys, and what they share."""
    from cauce.cli.run import parameters_of
    from cauce.datasets import load
    from cauce.plan.explain import explain as explain_plan

    chosen = load(dataset)
    plan = chosen.plan(names(queries), parameters_of(chosen, sentiment, param or []), partitions or cores())
    sys.stdout.write(explain_plan(plan))


@app.command(rich_help_panel=ANSWER)
def datasets() -> None:
    """List the datasets with their tables, files and queries."""
    from cauce.cli.listing import list_datasets

    list_datasets()


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
    from cauce.cli.demo import demo_command, demo_serve_command

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
    """Write synthetic files in the format of the real ones."""
    from cauce.cli.generate import generate_command

    generate_command(dataset, out, scale, seed)


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
    clone = Path(__file__).parents[3]
    if not (clone / "bench" / "__main__.py").is_file():
        raise UsageError("cauce bench needs the directory bench/ of the project; run ./cauce bench in a clone")
    sys.path.insert(0, str(clone))
    from bench.__main__ import main

    raise typer.Exit(main(context.args))


app.command(rich_help_panel=SETUP)(completion)


def cores() -> int:
    return os.cpu_count() or 1


def _no_more_than(command: str) -> typer.Typer:
    """The command line without commands that were not asked for: to build all of it takes a tenth of a second."""
    asked = [each for each in app.registered_commands if each.callback and each.callback.__name__ == command]
    groups = [each for each in app.registered_groups if each.name == command]
    if not groups and (not asked or asked[0].name not in (None, command)):
        return app
    part = copy(app)
    part.registered_commands, part.registered_groups = asked, groups
    return part


def entry() -> None:
    """Runs the command line. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    try:
        if COMPLETE in os.environ:
            from typer.completion import completion_init  # type: ignore[attr-defined]

            completion_init()
        _no_more_than(sys.argv[1] if len(sys.argv) > 1 else "")(prog_name="cauce")
    except SystemExit as ended:
        code = _code_of(ended)
    except UsageError as problem:
        fail(problem)
        code = 2
    except CauceError as problem:
        fail(problem)
        code = 1
    except KeyboardInterrupt:
        code = _interrupted()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as problem:
        # A full disk, a directory without write permission, a file that was removed: reasons of the machine.
        fail(JobFailed(f"{problem.filename or 'a file'} cannot be used: {problem.strerror or problem}"))
        code = 1
    except Exception as problem:  # noqa: BLE001
        crashed(problem)
        code = 1
    else:
        code = 0
    sys.exit(code)


def _code_of(ended: SystemExit) -> int:
    """The exit code that a command chose, or the one for what Typer turned into an exit."""
    if isinstance(ended.__context__, BrokenPipeError):
        # The reader of our output went away, as `head` does. Typer reports a failure, but nothing failed.
        return 0
    if isinstance(ended.__context__, typer.Exit) and isinstance(ended.__context__.__cause__, KeyboardInterrupt):
        return _interrupted()
    return ended.code if isinstance(ended.code, int) else int(bool(ended.code))


def _interrupted() -> int:
    """Reports Ctrl-C for a command that has nothing more to say about it."""
    restore_terminal()
    warn("interrupted")
    return 130


if __name__ == "__main__":
    entry()
