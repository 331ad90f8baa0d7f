"""`cauce sql` and `cauce schema`: answers SQL over files without a declaration, and prints their inferred schema."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cauce.api.formats import REJECTS
from cauce.cli.options import (
    ConnectionOptions,
    FileOptions,
    FormatOption,
    MaxRejectsOption,
    ParamOption,
    RunOptions,
    SchemaOption,
    TypeOption,
    named_values,
)
from cauce.cli.parameters import declared
from cauce.errors import FabricFull, UsageError
from cauce.terminal.console import warn
from cauce.terminal.invocation import command

if TYPE_CHECKING:
    import polars as pl

    from cauce.plan import Dataset
    from cauce.runner.sinks import Prepared
    from cauce.runner.sql_source import Given
    from cauce.sql_frontend.dataset import SqlDataset
    from cauce.sql_frontend.source import SqlSource

SHOWN_ROWS = 40
EXPLAINED_REJECTS = 100_000
"""So many rejects of a large run are looked at for the remedy."""


@dataclass(frozen=True, kw_only=True)
class SqlOptions:
    """Statements, the files they read, and where their answers go."""

    text: Annotated[str, declared.Argument(help="SQL statements", metavar="TEXT", show_default="standard input")] = ""
    file: Annotated[Path | None, declared.Option("--file", "-f", help="file with statements", metavar="FILE")] = None
    data: Annotated[
        Path, declared.Option(help="directory with the files: orders.csv is table orders", metavar="DIR")
    ] = Path()
    out: Annotated[
        Path | None, declared.Option(help="directory for the answers", metavar="DIR", show_default="they are printed")
    ] = None
    format: FormatOption = "csv"
    max_rejects: MaxRejectsOption = ""
    schema: SchemaOption = None
    type: TypeOption = None
    param: ParamOption = None
    on: Annotated[
        str,
        declared.Option("--on", help="kept dataset of a service to read, instead of --data", metavar="NAME",
                     show_default=False),
    ] = ""  # fmt: skip
    job: Annotated[
        str,
        declared.Option("--job", help="with --on: id of the job; an existing one is resumed", metavar="JOB",
                     show_default="a new one"),
    ] = ""  # fmt: skip
    explain: Annotated[bool, declared.Option("--explain", help="print the plan and answer nothing")] = False

    def statements(self) -> str:
        if self.text and self.file is not None:
            raise UsageError("both a text and --file are given; give the statements once")
        if self.text:
            return self.text
        if self.file is None and sys.stdin.isatty():
            raise UsageError(f"there are no statements; write: {command('sql', 'SELECT …')}, or name a file with -f")
        try:
            return sys.stdin.read() if self.file is None else self.file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise UsageError(f"{self.file or 'standard input'} cannot be read: {problem}") from None

    def given(self) -> Given:
        from cauce.runner.sql_source import Given, read_schema
        from cauce.schema import DatasetSchema

        schema = DatasetSchema() if self.schema is None else read_schema(self.schema)
        return Given(schema, named_values("--type", self.type, "orders.paid=decimal"))

    def parameters(self) -> dict[str, str]:
        return named_values("--param", self.param, "year=2024")


def sql_command(
    options: SqlOptions, execution: RunOptions, connection: ConnectionOptions, is_given: Callable[[str], bool]
) -> None:
    """`is_given`: whether an option is on the command line, and not only in a variable or the configuration file."""
    text = options.statements()
    if options.on:
        from cauce.cli.remote.kept_commands import sql_on_command

        _check_remote(is_given)
        sql_on_command(options, text, connection)
    elif options.job:
        raise UsageError("--job names a job of a service; name the kept dataset that it reads with --on")
    elif options.explain:
        _explain(options, text, execution)
    elif options.out is None and execution.work is None and not execution.fabric and _is_little(options, text):
        _answer_here(options, text, execution)
    else:
        _answer_with_workers(options, text, execution)


def _check_remote(is_given: Callable[[str], bool]) -> None:
    """Raises if an option is given that has no meaning for a kept dataset."""
    local = ["data", "schema", "type", "explain", *vars(RunOptions())]
    given = [f"--{name.replace('_', '-')}" for name in local if is_given(name)]
    if given:
        raise UsageError(f"{', '.join(given)} cannot be combined with --on, which reads a dataset that a service keeps")


def _source(options: SqlOptions, text: str, *, isolate: bool = False) -> SqlSource:
    from cauce.runner.sql_source import source_of

    return source_of(text, options.data, options.given(), warn, isolate=isolate)


def _dataset(options: SqlOptions, source: SqlSource) -> SqlDataset:
    from cauce.sql_frontend.dataset import dataset_of

    return dataset_of(source, options.parameters())


def _explain(options: SqlOptions, text: str, execution: RunOptions) -> None:
    from cauce.plan.explain import explain

    dataset = _dataset(options, _source(options, text))
    plan = dataset.plan(parameters=options.parameters(), partitions=execution.partition_count)
    sys.stdout.write(explain(plan))


def _is_little(options: SqlOptions, text: str) -> bool:
    """Whether the tables are so small that starting processes takes longer than reading them."""
    from cauce.runner.in_process import LITTLE_BYTES
    from cauce.runner.sql_source import bytes_named

    return bytes_named(text, options.data, options.given().schema) < LITTLE_BYTES


def _prepared(options: SqlOptions, dataset: SqlDataset, partitions: int) -> Prepared:
    from cauce.runner.sinks import prepare

    return replace(prepare(dataset, options.data, None, options.parameters(), partitions), sql=dataset.sql)


def _answer_here(options: SqlOptions, text: str, execution: RunOptions) -> None:
    """Small tables: one process, with the code of the workers."""
    from cauce.runner.in_process import Settings
    from cauce.runner.sinks import run_in_memory
    from cauce.scan.reject_summary import RejectLimit
    from cauce.terminal.answers import show_answer
    from cauce.terminal.console import print_line, size
    from cauce.terminal.reject_report import report_rejects

    started = time.monotonic()
    limit = RejectLimit.parse(options.max_rejects)
    dataset = _dataset(options, _source(options, text))
    prepared = _prepared(options, dataset, 1)
    answers = run_in_memory(prepared, Settings(memory=execution.budget))
    if limit is not None:
        limit.check(answers.summary)
    for query, frame in answers.items():
        show_answer(dataset, query, frame.head(SHOWN_ROWS), frame.height)
    seconds = time.monotonic() - started
    read = sum(prepared.bytes.values())
    print_line(f"{_counted(dataset)} over {size(read)} in {seconds:.1f} s")
    report_rejects(answers.summary, None)
    _explain_rejects(answers.rejects, prepared, options)


def _answer_with_workers(options: SqlOptions, text: str, execution: RunOptions) -> None:
    from cauce.cli.run import Shown, run_and_show

    made: list[Prepared] = []
    sources: list[SqlSource] = []

    def find_source() -> None:
        # In child processes, before this process starts threads.
        sources.append(_source(options, text, isolate=True))

    def prepared(partitions: int) -> tuple[Dataset, Prepared]:
        dataset = _dataset(options, sources[0] if sources else _source(options, text))
        made.append(_prepared(options, dataset, partitions))
        return dataset, made[0]

    def run(out: Path, *, keeps_files: bool) -> None:
        files = FileOptions(data=options.data, out=out, format=options.format, max_rejects=options.max_rejects)
        run_and_show(files, execution, "", prepared, Shown(SHOWN_ROWS, keeps_files), find_source)
        if (out / REJECTS).is_file():
            _explain_rejects(_first_rejects(out / REJECTS), made[0], options)

    if options.out is not None:
        run(options.out, keeps_files=True)
        return
    with tempfile.TemporaryDirectory(prefix="cauce-sql-") as folder:
        try:
            run(Path(folder), keeps_files=False)
        except FabricFull:
            if execution.work is not None:
                raise
            # Nothing of it stays, so the command would not continue where it stopped.
            where = Path(folder).parent
            raise FabricFull(
                f"no space left for the work files in {where}; choose a directory with more space with --work"
            ) from None


def _first_rejects(file: Path) -> pl.DataFrame:
    import polars as pl

    return pl.read_csv(file, n_rows=EXPLAINED_REJECTS, infer_schema=False)


def _counted(dataset: SqlDataset) -> str:
    count = len(dataset.queries)
    return f"{count} {'statement' if count == 1 else 'statements'}"


def _explain_rejects(rejects: pl.DataFrame, prepared: Prepared, options: SqlOptions) -> None:
    """Prints, for each column with rejected cells, the option that reads them."""
    from cauce.runner.sql_source import given_columns
    from cauce.schema import spec_of, type_suggestions

    assert prepared.sql is not None
    given = given_columns(options.given().types)
    for table in prepared.sql.schema.tables:
        names = [file.name for file in prepared.files.get(spec_of(table).name, ())]
        for sentence in type_suggestions(table, rejects.filter(rejects["file"].is_in(names)), given):
            warn(sentence)


def schema_command(data: Path, types: list[str] | None) -> None:
    from cauce.runner.sql_source import schema_of

    notes: list[str] = []
    try:
        text = schema_of(data, named_values("--type", types, "orders.paid=decimal"), notes.append).to_toml()
        # TOML is UTF-8 in every locale, so that the file can be read again.
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.flush()
    finally:
        # After the schema, where they are seen if it is longer than the terminal.
        for note in notes:
            warn(note)
