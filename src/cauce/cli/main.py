"""The command line: `cauce run`, `explain`, `datasets`, `generate`, `demo`, `bench`."""

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
from cauce.cli.crash import crashed
from cauce.cli.deploy import app as deploy_app
from cauce.cli.options import FabricOption, MaxRejectsOption
from cauce.cli.output import fail, warn
from cauce.cli.serve import register as register_serve
from cauce.cli.service import register as register_service
from cauce.errors import CauceError, JobFailed, UsageError

app = typer.Typer(
    help="Answers a catalogue of queries over big files, exactly.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(chaos_app, name="chaos")
app.add_typer(broker_app, name="broker")
app.add_typer(deploy_app, name="deploy")

DatasetArgument = Annotated[
    str, typer.Argument(help="books, movies, flights, coffee, or the path of your own .py file")
]
QueriesOption = Annotated[str, typer.Option(help="queries to answer, such as q1,q3 (default: all)", metavar="q1,q3")]
SentimentOption = Annotated[str, typer.Option(help="scorer of texts: vader or textblob", metavar="NAME")]
PartitionsOption = Annotated[
    int, typer.Option(help="partitions of every keyed stage (default: the cores)", min=0, max=4096, show_default=False)
]

ParamOption = Annotated[
    list[str] | None, typer.Option(help="a dataset's own parameter, as name=value", metavar="NAME=VALUE")
]
WorkersOption = Annotated[
    int, typer.Option(help="worker processes (default: the cores)", min=0, max=256, show_default=False)
]


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
        bool, typer.Option("--version", help="print the version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand != "run":
        # `run` does it itself, when all that its workers need is loaded.
        gc.enable()


@app.command()
def run(
    dataset: DatasetArgument,
    data: Annotated[Path, typer.Option(help="folder that holds the dataset's files")],
    out: Annotated[Path, typer.Option(help="folder for the answers")] = Path("answers"),
    queries: QueriesOption = "",
    format: Annotated[str, typer.Option(help="csv, json, parquet or arrow", metavar="FORMAT")] = "csv",
    partitions: PartitionsOption = 0,
    workers: WorkersOption = 0,
    sentiment: SentimentOption = "",
    param: ParamOption = None,
    work: Annotated[Path | None, typer.Option(help="folder for the run's own files (default: in --out)")] = None,
    power_safe: Annotated[
        bool, typer.Option("--power-safe", help="survive a loss of power too, not only kills")
    ] = False,
    part_bytes: Annotated[
        int,
        typer.Option(help="bytes of a part of a table (default: by their size)", min=0, max=2**30, show_default=False),
    ] = 0,
    journal: Annotated[
        bool, typer.Option(help="note what is done, so that a dead worker's lane goes on where it was")
    ] = True,
    attempts: Annotated[int, typer.Option(help="deaths of workers on one part before the job is given up", min=1)] = 3,
    fabric: FabricOption = "",
    max_rejects: MaxRejectsOption = "",
) -> None:
    """Answer queries over the files in a folder. Run again after a kill, it goes on where it was."""
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


@app.command()
def explain(
    dataset: DatasetArgument,
    queries: QueriesOption = "",
    partitions: PartitionsOption = 0,
    sentiment: SentimentOption = "",
    param: ParamOption = None,
) -> None:
    """Print the plan: stages, keys, and what is shared."""
    from cauce.cli.run import parameters_of
    from cauce.datasets import load
    from cauce.plan.explain import explain as explain_plan

    chosen = load(dataset)
    plan = chosen.plan(names(queries), parameters_of(chosen, sentiment, param or []), partitions or cores())
    sys.stdout.write(explain_plan(plan))


@app.command()
def datasets() -> None:
    """List the datasets with their tables, files and queries."""
    from cauce.cli.listing import list_datasets

    list_datasets()


@app.command()
def generate(
    dataset: Annotated[str, typer.Argument(help="books, movies, flights or coffee")],
    out: Annotated[Path, typer.Option(help="folder to write the files into")],
    scale: Annotated[float, typer.Option(help="1 is the size of the real files", min=0.0)] = 0.01,
    seed: Annotated[int, typer.Option(help="the same seed gives the same bytes", min=0)] = 0,
) -> None:
    """Write synthetic files in the format of the real ones."""
    from cauce.cli.generate import generate_command

    generate_command(dataset, out, scale, seed)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="folder for data and answers")] = Path("demo"),
    scale: Annotated[float, typer.Option(help="share of the real files' size", min=0.0005, max=1.0)] = 0.002,
    seed: Annotated[int, typer.Option(min=0)] = 7,
    serve: Annotated[
        bool, typer.Option("--serve", help="then serve: dashboard, clients, and a kill every few seconds")
    ] = False,
    port: Annotated[int, typer.Option(help="of the service (0: any free one)", min=0, max=65535)] = 8080,
    kill_every: Annotated[float, typer.Option(help="seconds between kills (0: none)", min=0.0)] = 5.0,
) -> None:
    """Make small data for the four datasets and answer all nineteen queries."""
    from cauce.cli.demo import demo_command, demo_serve_command

    if serve:
        demo_serve_command(out, scale, seed, port, kill_every)
    else:
        demo_command(out, scale, seed)


register_serve(app)
register_service(app)
register_cluster(app)


@app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(context: typer.Context) -> None:
    """Measure Cauce beside DuckDB, Polars, pandas, Dask and PySpark, in a clone of the project."""
    clone = Path(__file__).parents[3]
    if not (clone / "bench" / "__main__.py").is_file():
        raise UsageError("cauce bench needs the folder bench/ of the project: run ./cauce bench in a clone")
    sys.path.insert(0, str(clone))
    from bench.__main__ import main

    raise typer.Exit(main(context.args))


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
        _no_more_than(sys.argv[1] if len(sys.argv) > 1 else "")(prog_name="cauce")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        if isinstance(ended.__context__, BrokenPipeError):
            # The reader of our output went away, as `head` does: the library takes that for a failure, and it is none.
            code = 0
    except UsageError as problem:
        fail(problem)
        code = 2
    except CauceError as problem:
        fail(problem)
        code = 1
    except KeyboardInterrupt:
        warn("stopped; nothing was left behind, the same command starts again")
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as problem:
        # A full disk, a folder that may not be written, a file that went away: reasons of the machine, said in a line.
        fail(JobFailed(f"{problem.filename or 'a file'} cannot be used: {problem.strerror or problem}"))
        code = 1
    except Exception as problem:  # noqa: BLE001
        crashed(problem)
        code = 1
    else:
        code = 0
    sys.exit(code)


if __name__ == "__main__":
    entry()
