"""`cauce chaos`: faults on purpose, real ones on a run and simulated ones by the thousand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated, Protocol

import typer

from cauce.cli.help import CommandLine
from cauce.cli.options import DataOption, DatasetArgument, FabricOption, QueriesOption, WorkersOption
from cauce.cli.output import console
from cauce.errors import JobFailed, UsageError

app = CommandLine("Inject faults and compare the answers.")

EveryOption = Annotated[str, typer.Option(help="mean time between two faults, such as 0.5s", metavar="TIME")]
FaultSeedOption = Annotated[int, typer.Option(help="seed of the faults", min=0, metavar="N")]
SchedulesOption = Annotated[int, typer.Option(help="number of schedules", min=1, metavar="N")]
FirstOption = Annotated[int, typer.Option(help="seed of the first schedule", min=0, metavar="N")]
OneSeedOption = Annotated[
    int, typer.Option(help="run only this schedule, and print its faults", metavar="N", show_default=False)
]
ProcessesOption = Annotated[
    int, typer.Option(help="parallel processes", min=0, metavar="N", show_default="number of cores")
]

CHUNK = 50

Played = tuple[int, int, list[str]]
"""How many schedules, how many faults, and what went wrong."""


@app.command("run")
def run(
    dataset: DatasetArgument,
    data: DataOption,
    out: Annotated[Path, typer.Option(help="directory for the answers of both runs", metavar="DIR")],
    kill_every: EveryOption = "0.5s",
    seed: FaultSeedOption = 0,
    queries: QueriesOption = "",
    workers: WorkersOption = 0,
    part_bytes: Annotated[
        int, typer.Option(help="size of a part; smaller parts make a longer run", min=1024, metavar="BYTES")
    ] = 2**18,
    fabric: FabricOption = "",
) -> None:
    """Run a job while its processes are killed and paused; compare the answers.

    The expected answers come from a run without faults.
    """
    from cauce.chaos.run import Chaos, same_answers

    arguments = [dataset, "--data", str(data), "--workers", str(workers), "--part-bytes", str(part_bytes)]
    if queries:
        arguments += ["--queries", queries]
    if fabric:
        arguments += ["--fabric", fabric]
    calm, faulty = out / "calm", out / "faulty"
    without_faults = [sys.executable, "-P", "-m", "cauce", "run", *arguments, "--out", str(calm)]
    code = subprocess.run(without_faults, stdout=subprocess.DEVNULL, check=False).returncode
    if code == 2:
        raise typer.Exit(2)
    if code != 0:
        raise JobFailed(f"the run without faults ended with exit code {code}")
    chaos = Chaos([*arguments, "--out", str(faulty)], seconds(kill_every), seed, lambda line: console().print(line))
    chaos.play()
    kills = sum(done.what == "kill" for done in chaos.done)
    if not chaos.done:
        raise JobFailed("the run ended before the first fault; use more data or a shorter --kill-every")
    pauses = len(chaos.done) - kills
    console().print(f"{kills} kill{'s' * (kills != 1)} and {pauses} pause{'s' * (pauses != 1)}")
    different = same_answers(calm, faulty)
    if different:
        raise JobFailed(f"the answers differ: {', '.join(different)}; compare {calm} with {faulty}")
    console().print("The answers equal those of a run without faults, byte for byte.")


@app.command("service")
def service(
    out: Annotated[Path, typer.Option(help="directory for data, answers and the service", metavar="DIR")],
    minutes: Annotated[float, typer.Option(help="duration", min=0.1, metavar="MINUTES")] = 10.0,
    clients: Annotated[int, typer.Option(help="concurrent clients", min=1, max=64, metavar="N")] = 4,
    kill_every: EveryOption = "2s",
    seed: FaultSeedOption = 0,
    scale: Annotated[
        float, typer.Option(help="size of the data; 1 is that of the real files", min=1e-4, max=1.0, metavar="X")
    ] = 0.004,
    broker: Annotated[
        Path | None,
        typer.Option(help="directory of private broker nodes; run on them and kill them too", metavar="DIR"),
    ] = None,
    fabric: FabricOption = "",
) -> None:
    """Serve clients while processes are killed and paused; compare every answer."""
    from cauce.cli.chaos_service import play_service

    play_service(out, minutes * 60, clients, seconds(kill_every), seed, scale, broker, fabric)


@app.command("simulate")
def simulate(
    schedules: SchedulesOption = 1000,
    first: FirstOption = 0,
    seed: OneSeedOption = -1,
    processes: ProcessesOption = 0,
) -> None:
    """Simulate whole jobs under faults.

    Every seed is a schedule of faults that can be repeated.
    """
    os.environ["POLARS_MAX_THREADS"] = "1"
    if seed >= 0:
        # Not before: others are forked, and a library that has been used cannot be.
        from cauce.chaos.simulate import simulate as play

        outcome = play(seed)
        for fault in outcome.faults:
            console().print(fault, soft_wrap=True)
        console().print(f"seed {seed}: {outcome.what}; {outcome.turns} turns, {len(outcome.faults)} faults")
        if outcome.problem:
            raise JobFailed(f"seed {seed}: {outcome.problem}")
        console().print("The answers are right, and nothing is left behind.")
        return
    _play_many(_play_jobs, range(first, first + schedules), processes or os.cpu_count() or 1)


@app.command("doctors")
def doctors(
    schedules: SchedulesOption = 1000,
    first: FirstOption = 0,
    seed: OneSeedOption = -1,
    processes: ProcessesOption = 0,
) -> None:
    """Simulate elections and restarts under faults.

    After the last fault there must be one leader, and every process once.
    """
    from cauce.chaos.doctors import play

    if seed >= 0:
        outcome = play(seed)
        for fault in outcome.faults:
            console().print(fault, soft_wrap=True)
        if outcome.problem:
            raise JobFailed(f"seed {seed}: {outcome.what}: {outcome.problem}")
        console().print(
            f"seed {seed}: {outcome.what}; {len(outcome.faults)} faults; after the last one there was a leader "
            f"within {outcome.leader_s:.1f} s, and the cluster was stable after {outcome.settled_s:.1f} s"
        )
        return
    _play_many(_play_doctors, range(first, first + schedules), processes or os.cpu_count() or 1)


def _play_many(play: Callable[[range], Played], seeds: range, processes: int) -> None:
    started = time.monotonic()
    done = faults = 0
    problems: list[str] = []
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    with ProcessPoolExecutor(processes) as pool:
        for played, count, bad in pool.map(play, chunks):
            done, faults = done + played, faults + count
            problems += bad
            for problem in bad:
                console().print(problem, style="red", soft_wrap=True)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{done:,} schedules, {faults:,} faults, {len(problems)} problems")
    if sys.stderr.isatty():
        sys.stderr.write("\r")
    rate = done / max(time.monotonic() - started, 1e-3)
    console().print(f"{done:,} schedules with {faults:,} faults: {len(problems)} failed ({rate:.0f} schedules/s)")
    if problems:
        raise JobFailed(f"{len(problems)} schedules failed; repeat each of them with --seed")


def _play_jobs(seeds: range) -> Played:
    from cauce.chaos.simulate import simulate as play

    return _told([play(seed) for seed in seeds])


def _play_doctors(seeds: range) -> Played:
    from cauce.chaos.doctors import play

    return _told([play(seed) for seed in seeds])


class _Outcome(Protocol):
    seed: int
    what: str
    faults: list[str]
    problem: str


def _told(outcomes: Sequence[_Outcome]) -> Played:
    bad = [f"seed {each.seed}: {each.what}: {each.problem}" for each in outcomes if each.problem]
    return len(outcomes), sum(len(each.faults) for each in outcomes), bad


def seconds(text: str) -> float:
    """`0.5s`, `500ms`, `2`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|)", text.strip())
    if match is None or float(match[1]) == 0:
        raise UsageError(f"invalid duration {text!r}; expected a value such as 0.5s or 500ms")
    return float(match[1]) / (1000 if match[2] == "ms" else 1)
