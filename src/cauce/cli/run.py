"""`cauce run`: answers queries over the files in a folder and prints the answers."""

from __future__ import annotations

import gc
import hashlib
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cauce.api.formats import REJECTS
from cauce.cli.options import FileOptions, QueryOptions, RunOptions
from cauce.errors import CorruptRecord, JobFailed, TooManyRejects, UsageError, WrongSplit
from cauce.fabric.address import parse
from cauce.fabric.private_namespace import private, remove_private
from cauce.process.limits import one_thread_each
from cauce.process.signals import sigterm_as_interrupt
from cauce.runner.output_dir import OutputLock
from cauce.runner.work_dir import WorkFolder, is_tiny, work_folder_exists
from cauce.runner.worker_pool import WorkerPool
from cauce.service.broker_notices import warn_of_wrong_settings
from cauce.terminal.answers import SHOWN_ROWS, answers_text, show_summary
from cauce.terminal.console import check_out, format_of, warn, warn_if_wide
from cauce.terminal.invocation import same_command
from cauce.terminal.progress import Bars
from cauce.terminal.reject_report import report_rejects

if TYPE_CHECKING:
    from collections.abc import Callable

    from cauce.plan import Dataset
    from cauce.runner.sinks import Folder, Prepared
    from cauce.scan.reject_summary import RejectLimit

    Prepare = Callable[[int], tuple[Dataset, Prepared]]


@dataclass(frozen=True)
class Shown:
    """What is printed of a run: the first rows of its answers and, if their files stay, where these are."""

    rows: int = SHOWN_ROWS
    keeps_files: bool = True


_WITH_FILES = Shown()


@dataclass(frozen=True)
class _Answered:
    dataset: Dataset
    sink: Folder
    bars: Bars

    @cached_property
    def text(self) -> str:
        """The first rows of the answers."""
        return answers_text(self.dataset, self.sink.heads, self.sink.rows)


def run_command(files: FileOptions, queries: QueryOptions, options: RunOptions) -> None:
    def prepared(partitions: int) -> tuple[Dataset, Prepared]:
        from cauce.datasets import load
        from cauce.runner.sinks import prepare

        chosen = load(queries.dataset)
        parameters = queries.parameters(chosen)
        limit = options.budget.broadcast_bytes
        # The workers have been forked: this process may start threads.
        return chosen, prepare(chosen, files.data, queries.names, parameters, partitions, limit, isolate=False)

    run_and_show(files, options, queries.dataset, prepared)


def run_and_show(
    files: FileOptions,
    options: RunOptions,
    dataset: str,
    prepared: Prepare,
    shown: Shown = _WITH_FILES,
    before_fork: Callable[[], None] = lambda: None,
) -> Folder:
    """Writes the answers to files and prints the first rows of each. `dataset` is what the workers load; `prepared` is
    called with a number of partitions when their prefork server has been forked. `before_fork` is called before that.
    It must start no thread."""
    started = time.monotonic()
    check_out(files.out)
    check_limit(files.max_rejects)
    _ = options.budget
    format_of(files.format)
    if options.fabric:
        parse(options.fabric)
    if _fits_here(files, options):
        answered = _run_here(files, options, prepared, shown.rows)
    else:
        answered = _run(files, options, dataset, prepared, shown, before_fork)
    chosen, sink, bars = answered.dataset, answered.sink, answered.bars
    sys.stdout.write(answered.text)
    out = files.out if shown.keeps_files else None
    show_summary(chosen, len(sink.rows), sum(bars.rows.values()), bars.bytes, time.monotonic() - started, out)
    if bars.restarts:
        warn(f"workers were restarted {bars.restarts} time{'s' * (bars.restarts != 1)}")
    report_rejects(sink.reject_summary, out / REJECTS if out is not None else None)
    return sink


def _fits_here(files: FileOptions, options: RunOptions) -> bool:
    """Whether to run without workers: the files are tiny, no option asks for workers, their logs or their recovery, and
    there is no run to resume."""
    return (
        replace(options, memory="", partitions=0) == RunOptions()
        and not work_folder_exists(files.out)
        and is_tiny(files.data)
    )


def _run_here(files: FileOptions, options: RunOptions, prepared: Prepare, kept_rows: int) -> _Answered:
    """Runs the job in this process, with the code of the workers. A run that is killed starts again: it takes less time
    than starting processes does."""
    from cauce.runner.in_process import LocalRun, Settings

    made = _first_missing(files.out)
    try:
        lock = OutputLock.of_directory(files.out, same_command())
    except UsageError:
        _remove_empty(files.out, made)
        raise
    try:
        with sigterm_as_interrupt():
            chosen, job = prepared(options.partitions or 1)
            settings = Settings(memory=options.budget)
            return _Answered(
                chosen,
                *_written(
                    files, job, kept_rows, lambda sink, bars: LocalRun(job.plan, job.files, sink, bars, settings).run()
                ),
            )
    except UsageError:
        lock.close()
        _remove_empty(files.out, made)
        raise
    finally:
        lock.close()


def _run(
    files: FileOptions,
    options: RunOptions,
    dataset: str,
    prepared: Prepare,
    shown: Shown,
    before_fork: Callable[[], None],
) -> _Answered:
    """Runs the job with a pool of workers, and removes its work folder unless the run can be resumed."""
    # Workers are forked from this process, so it must not start threads.
    one_thread_each()
    from cauce.runner.prefork import make_ready

    make_ready()
    before_fork()
    gc.freeze()
    gc.enable()
    made = _first_missing(files.out)
    folder, lock = _acquire_directories(options, files.out, made)
    address = _fabric_address(options.fabric, folder)
    pool = WorkerPool(
        address,
        options.worker_count,
        dataset,
        options.durability,
        options.journal,
        options.attempts,
        options.budget.worker_bytes,
        fork=True,
        awaits_plan=_may_send_plan(dataset),
    )
    pool.start()
    # Only after the fork: workers would inherit the listener and print the notice too.
    warn_of_wrong_settings()
    try:
        with sigterm_as_interrupt():
            answered = _answer(files, options, pool, prepared, shown.rows)
    except UsageError:
        pool.kill()
        if folder.fresh:
            _remove(folder, address)
        lock.close()
        _remove_empty(files.out, made)
        raise
    except (JobFailed, CorruptRecord):
        # The outcome is final: there is nothing to resume.
        pool.kill()
        _remove(folder, address)
        raise
    except KeyboardInterrupt:
        pool.stop()
        if shown.keeps_files or options.work is not None:
            warn(f"interrupted; the work so far is kept in {folder.path}. Continue with: {same_command()}")
        else:
            warn(f"interrupted; nothing is kept. Start again with: {same_command()}")
        raise SystemExit(130) from None
    else:
        # While the workers exit.
        _ = answered.text
        pool.kill()
        # Before the lock is released: another run may use the folder as soon as it is free.
        _remove(folder, address)
        return answered
    finally:
        pool.kill()
        folder.close()
        lock.close()


def _may_send_plan(dataset: str) -> bool:
    """Whether the prefork server can load the plan: that of a user's file has functions of that file, which workers
    load when the job exists."""
    from cauce.datasets import BUILT_IN

    return not dataset or dataset in BUILT_IN


def _first_missing(out: Path) -> Path | None:
    """The topmost directory that must be created for `out`."""
    return next((path for path in [*reversed(out.absolute().parents), out] if not path.exists()), None)


def _acquire_directories(options: RunOptions, out: Path, made: Path | None) -> tuple[WorkFolder, OutputLock]:
    """Locks the work folder and the output directory. Raises a UsageError, and changes nothing, if another run holds
    one of the locks."""
    folder = WorkFolder(options.work or out, durable=options.power_safe)
    try:
        warn_if_wide(folder.path)
        return folder, OutputLock.of_directory(out, same_command())
    except BaseException:
        if folder.fresh:
            folder.remove()
        folder.close()
        _remove_empty(out, made)
        raise


def _remove_empty(out: Path, made: Path | None) -> None:
    """Removes the output directories that this run created, but only empty ones: other commands may already use
    them."""
    if made is None:
        return
    with suppress(OSError):
        for path in (out.absolute(), *out.absolute().parents):
            path.rmdir()
            if path == made.absolute():
                return


def _fabric_address(fabric: str, folder: WorkFolder) -> str:
    """Returns the address of the run's logs: its work folder, or a private namespace of the broker derived from it."""
    if not fabric:
        return f"files:{folder.path}"
    named = f"{socket.gethostname()} {folder.path}"
    return private(fabric, f"run-{hashlib.sha256(named.encode()).hexdigest()[:16]}")


def _remove(folder: WorkFolder, address: str) -> None:
    remove_private(address)
    folder.remove()


def _answer(files: FileOptions, options: RunOptions, pool: WorkerPool, prepare: Prepare, kept_rows: int) -> _Answered:
    # Imported here, in parallel with the start of the workers.
    from cauce.runner.run import LANES_A_WORKER, RunSettings, has_exact_run, run_with_workers

    chosen, prepared = prepare(options.partition_count)
    lanes = 1 if options.fabric else LANES_A_WORKER
    settings = RunSettings(pool.size, options.part_bytes or None, options.budget, lanes_a_worker=lanes)

    def attempt(settings: RunSettings) -> _Answered:
        def run(sink: Folder, bars: Bars) -> None:
            run_with_workers(prepared, pool, sink, bars, settings)
            pool.begin_kill()

        return _Answered(chosen, *_written(files, prepared, kept_rows, run))

    exact = replace(settings, guess=False)
    if has_exact_run(prepared, pool, settings):
        return attempt(exact)
    try:
        return attempt(settings)
    except WrongSplit:
        warn("quotes in the files hide record boundaries; restarting with a scan of the whole files first")
        return attempt(exact)


def _written(
    files: FileOptions, prepared: Prepared, kept_rows: int, run: Callable[[Folder, Bars], None]
) -> tuple[Folder, Bars]:
    """Runs the job and completes the files of its answers, or removes them."""
    from cauce.runner.sinks import Folder
    from cauce.scan.reject_summary import RejectLimit

    limit = RejectLimit.parse(files.max_rejects)
    sink = Folder(prepared.plan, files.out, format_of(files.format), kept_rows)
    try:
        with Bars(prepared.inputs) as bars:
            run(sink, bars)
    except BaseException:
        sink.abandon()
        raise
    if limit is not None:
        _check_rejects(limit, sink, files.out)
    sink.finish()
    return sink, bars


def check_limit(max_rejects: str) -> None:
    """Raises if `--max-rejects` is invalid, before anything is started."""
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
