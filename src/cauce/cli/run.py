"""`cauce run`: answers queries over the files in a folder and shows them."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from cauce.cli.invocation import same_command
from cauce.cli.notices import tell_in_a_line
from cauce.cli.output import answer_table, check_out, console, format_of, size, warn
from cauce.cli.progress import Bars
from cauce.cli.reject_report import report_rejects
from cauce.errors import CorruptRecord, CutWrongly, JobFailed, TooManyRejects, UnknownName, UsageError
from cauce.fabric.address import parse
from cauce.fabric.contract import Durability
from cauce.fabric.private import private, remove_private
from cauce.wire import REJECTS, Format
from cauce.worker.crew import Crew
from cauce.worker.folder import WorkFolder

if TYPE_CHECKING:
    from cauce.plan import Dataset
    from cauce.scan.reject_summary import RejectLimit
    from cauce.worker.job import Folder

SHOWN_ROWS = 5


def run_command(
    dataset: str,
    data: Path,
    out: Path,
    queries: list[str],
    form: str,
    partitions: int,
    workers: int,
    sentiment: str,
    params: list[str],
    work: Path | None = None,
    durability: Durability = "process",
    part_bytes: int = 0,
    journal: bool = True,
    attempts: int = 3,
    fabric: str = "",
    max_rejects: str = "",
) -> None:
    started = time.monotonic()
    check_out(out)
    check_limit(max_rejects)
    checked = format_of(form)
    made = next((path for path in [*reversed(out.absolute().parents), out] if not path.exists()), None)
    # One thread for everything, as in the workers, which are this process forked. Read when Polars loads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["POLARS_MAX_THREADS"] = "1"
    from cauce.worker.nursery import make_ready

    make_ready()
    gc.freeze()
    gc.enable()

    if fabric:
        parse(fabric)
    folder = WorkFolder(work or out)
    address = _place_of(fabric, folder)
    crew = Crew(address, workers, durability, journal, attempts, fork=True)
    crew.start()
    # Not before: workers are this process forked, and would say it too.
    tell_in_a_line()
    try:
        with _stops_as_interrupt():
            chosen, sink, bars = _answer(
                dataset, data, out, queries, checked, partitions, params, sentiment, part_bytes, crew, max_rejects
            )
    except UsageError:
        crew.kill()
        if folder.fresh:
            _remove(folder, address)
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        raise
    except (JobFailed, CorruptRecord):
        # Its end is known: there is nothing to go on with.
        crew.kill()
        _remove(folder, address)
        raise
    except KeyboardInterrupt:
        crew.stop()
        warn(f"interrupted; the work so far is kept in {folder.path}. Continue with: {same_command()}")
        raise SystemExit(130) from None
    else:
        crew.kill()
        # Before the lock is let go: another run could be in the folder as soon as it is free.
        _remove(folder, address)
    finally:
        crew.kill()
        folder.close()
    show(chosen, sink)
    seconds = time.monotonic() - started
    counted = f"{len(sink.rows)} {'query' if len(sink.rows) == 1 else 'queries'}"
    console().print(
        f"{chosen.name}: {counted} over {sum(bars.rows.values()):,} rows, {size(bars.bytes)}, "
        f"in {seconds:.1f} s; answers in {out}/",
        soft_wrap=True,
    )
    if bars.restarts:
        warn(f"workers were restarted {bars.restarts} time{'s' * (bars.restarts != 1)}")
    report_rejects(sink.reject_summary, out / REJECTS)


def _place_of(fabric: str, folder: WorkFolder) -> str:
    """Where the run keeps its logs: in its folder, or in a corner of the broker that bears the folder's name."""
    if not fabric:
        return f"files:{folder.path}"
    named = f"{socket.gethostname()} {folder.path}"
    return private(fabric, f"run-{hashlib.sha256(named.encode()).hexdigest()[:16]}")


def _remove(folder: WorkFolder, address: str) -> None:
    remove_private(address)
    folder.remove()


def _answer(
    dataset: str,
    data: Path,
    out: Path,
    queries: list[str],
    form: Format,
    partitions: int,
    params: list[str],
    sentiment: str,
    part_bytes: int,
    crew: Crew,
    max_rejects: str,
) -> tuple[Dataset, Folder, Bars]:
    # Imported here, beside the workers' own loading.
    from cauce.datasets import load
    from cauce.scan.reject_summary import RejectLimit
    from cauce.worker.job import Folder, prepare
    from cauce.worker.run import RunSettings, begun_exactly, run_with_workers

    chosen = load(dataset)
    prepared = prepare(chosen, data, queries, parameters_of(chosen, sentiment, params), partitions)
    settings = RunSettings(crew.size, part_bytes or None)
    limit = RejectLimit.parse(max_rejects)

    def attempt(settings: RunSettings) -> tuple[Dataset, Folder, Bars]:
        sink = Folder(prepared.plan, out, form, SHOWN_ROWS)
        try:
            with Bars(prepared.bytes) as bars:
                run_with_workers(prepared, crew, sink, bars, settings)
        except BaseException:
            sink.abandon()
            raise
        if limit is not None:
            _check_rejects(limit, sink, out)
        sink.finish()
        return chosen, sink, bars

    exact = replace(settings, guess=False)
    if begun_exactly(prepared, crew, settings):
        return attempt(exact)
    try:
        return attempt(settings)
    except CutWrongly:
        warn("quotes in the files hide where records begin; restarting with a scan of the whole files first")
        return attempt(exact)


def check_limit(max_rejects: str) -> None:
    """Raises if `--max-rejects` is wrong, before anything is started."""
    if max_rejects:
        from cauce.scan.reject_summary import RejectLimit

        RejectLimit.parse(max_rejects)


def _check_rejects(limit: RejectLimit, sink: Folder, out: Path) -> None:
    try:
        limit.check(sink.reject_summary)
    except TooManyRejects as problem:
        sink.refuse()
        report_rejects(sink.reject_summary, out / REJECTS)
        raise TooManyRejects(f"{problem}: no answers were written") from None


@contextmanager
def _stops_as_interrupt() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def show(dataset: Dataset, sink: Folder) -> None:
    for query, rows in sink.rows.items():
        declared = dataset.queries[query]
        title = f"{dataset.name}.{query}  {declared.question}"
        console().print(answer_table(title, sink.heads[query], declared.columns, rows))
        console().print()


def parameters_of(dataset: Dataset, sentiment: str, params: list[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for param in params:
        name, equals, value = param.partition("=")
        if not equals:
            raise UsageError(f"--param {param} has no value; expected name=value")
        given[name] = value
    if sentiment:
        if "sentiment" not in [parameter.name for parameter in dataset.parameters]:
            raise UnknownName(f"dataset {dataset.name} has no texts to score; omit --sentiment")
        given["sentiment"] = sentiment
    return given
