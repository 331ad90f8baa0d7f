"""`cauce chaos`: injects faults into real runs and services, and into thousands of simulated schedules."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

import typer

from cauce.cli.help import CommandLine
from cauce.cli.options import FABRIC, DataOption, DatasetArgument, FabricOption, QueriesOption, WorkersOption
from cauce.errors import JobFailed, UsageError
from cauce.process.limits import cores, one_thread_each
from cauce.process.starting import module_command
from cauce.terminal.console import console

app = CommandLine("Inject faults and compare the answers.")

FaultSeedOption = Annotated[int, typer.Option(help="seed of the faults", min=0, metavar="N")]


@dataclass(frozen=True, kw_only=True)
class RunChaosOptions:
    out: Annotated[Path, typer.Option(help="directory for the answers of both runs", metavar="DIR")]
    kill_every: Annotated[str, typer.Option(help="mean time between two faults, such as 0.5s", metavar="TIME")] = "0.5s"
    seed: FaultSeedOption = 0
    workers: WorkersOption = 0
    part_bytes: Annotated[
        int, typer.Option(help="size of a part; smaller parts make a longer run", min=1024, metavar="BYTES")
    ] = 2**18
    fabric: FabricOption = ""


@dataclass(frozen=True, kw_only=True)
class ServiceChaosOptions:
    out: Annotated[Path, typer.Option(help="directory for data, answers and the service", metavar="DIR")]
    minutes: Annotated[float, typer.Option(help="duration", min=0.1, metavar="MINUTES")] = 10.0
    clients: Annotated[int, typer.Option(help="concurrent clients", min=1, max=64, metavar="N")] = 4
    kill_every: Annotated[str, typer.Option(help="mean time between two faults, such as 0.5s", metavar="TIME")] = "2s"
    seed: FaultSeedOption = 0
    scale: Annotated[
        float, typer.Option(help="size of the data; 1 is that of the real files", min=1e-4, max=1.0, metavar="X")
    ] = 0.004
    broker: Annotated[
        Path | None,
        typer.Option(help="directory of private broker nodes; run on them and kill them too", metavar="DIR"),
    ] = None
    fabric: FabricOption = ""


@dataclass(frozen=True, kw_only=True)
class BrokerChaosOptions:
    broker: Annotated[Path, typer.Option(help="directory of private broker nodes", metavar="DIR")]
    faults: Annotated[
        str,
        typer.Option(
            help="none, kill, pause, restart, kill-all, isolate, partition, separated by commas; the last two cut a "
            "node off from everything, or from the other nodes only, and need root",
            metavar="FAULTS",
        ),
    ] = "kill,pause,restart,kill-all"
    seconds: Annotated[float, typer.Option(help="duration of each fault's trial", min=1, metavar="SECONDS")] = 60.0
    writers: Annotated[int, typer.Option(help="concurrent writers", min=1, max=32, metavar="N")] = 3
    readers: Annotated[int, typer.Option(help="concurrent readers", min=0, max=32, metavar="N")] = 2
    seed: FaultSeedOption = 0


@dataclass(frozen=True, kw_only=True)
class PowerChaosOptions:
    out: Annotated[Path, typer.Option(help="directory for data, answers and the disk", metavar="DIR")]
    minutes: Annotated[float, typer.Option(help="duration; at least one round", min=0.0, metavar="MINUTES")] = 5.0
    survivors: Annotated[
        str,
        typer.Option(
            help="unsynced changes that survive: none, or ordered: the first ones of each file and directory",
            metavar="KIND",
        ),
    ] = "ordered"
    seed: FaultSeedOption = 0


@dataclass(frozen=True, kw_only=True)
class ScheduleOptions:
    """Simulated schedules. Each seed is one, and can be repeated."""

    schedules: Annotated[int, typer.Option(help="number of schedules", min=1, metavar="N")] = 1000
    first: Annotated[int, typer.Option(help="seed of the first schedule", min=0, metavar="N")] = 0
    seed: Annotated[
        int, typer.Option(help="run only this schedule, and print its faults", metavar="N", show_default=False)
    ] = -1
    processes: Annotated[
        int, typer.Option(help="parallel processes", min=0, metavar="N", show_default="number of cores")
    ] = 0


CHUNK = 50

Played = tuple[int, int, list[str]]
"""The number of schedules, the number of faults, and the problems found."""


@app.command("run")
def run(dataset: DatasetArgument, data: DataOption, options: RunChaosOptions, queries: QueriesOption = "") -> None:
    """Run a job while its processes are killed and paused; compare the answers.

    The expected answers come from a run without faults.
    """
    arguments = [dataset, "--data", str(data), "--workers", str(options.workers)]
    arguments += ["--part-bytes", str(options.part_bytes)]
    if queries:
        arguments += ["--queries", queries]
    if options.fabric:
        # Passed to the runs by environment: every user of this machine can see arguments.
        os.environ[FABRIC] = options.fabric
    expected, faulty = options.out / "expected", options.out / "faulty"
    _run_without_faults([*arguments, "--out", str(expected)])
    _run_with_faults([*arguments, "--out", str(faulty)], options)
    from cauce.lab.chaos.run import same_answers

    different = same_answers(expected, faulty)
    if different:
        raise JobFailed(f"the answers differ: {', '.join(different)}; compare {expected} with {faulty}")
    console().print("The answers equal those of a run without faults, byte for byte.")


def _run_without_faults(arguments: list[str]) -> None:
    command = module_command("cauce", "run", *arguments)
    code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    if code == 2:
        raise typer.Exit(2)
    if code != 0:
        raise JobFailed(f"the run without faults ended with exit code {code}")


def _run_with_faults(arguments: list[str], options: RunChaosOptions) -> None:
    from cauce.lab.chaos.run import Chaos

    chaos = Chaos(arguments, seconds(options.kill_every), options.seed, lambda line: console().print(line))
    chaos.play()
    if not chaos.faults:
        raise JobFailed("the run ended before the first fault; use more data or a shorter --kill-every")
    kills = sum(fault.what == "kill" for fault in chaos.faults)
    pauses = len(chaos.faults) - kills
    console().print(f"{kills} kill{'s' * (kills != 1)} and {pauses} pause{'s' * (pauses != 1)}")


@app.command("service")
def service(options: ServiceChaosOptions) -> None:
    """Serve clients while processes are killed and paused; compare every answer."""
    from cauce.cli.lab.chaos_service import play_service

    play_service(options, seconds(options.kill_every))


@app.command("broker")
def broker(options: BrokerChaosOptions) -> None:
    """Append to a stream while broker nodes are killed, paused, restarted and cut off.

    Counts lost, duplicated, reordered and phantom records. The exit code is 0 only if there are none; duplicates are
    allowed.
    """
    from cauce.cli.lab.chaos_broker import play_broker

    play_broker(options)


@app.command("power")
def power(options: PowerChaosOptions) -> None:
    """Cut the power of a fabric, of runs and of a service; compare with what was confirmed.

    Their disk is a file system of its own, which loses what was not synced. Needs Linux with FUSE, and root.
    """
    from cauce.cli.lab.chaos_power import play_power

    play_power(options)


@app.command("simulate")
def simulate(options: ScheduleOptions) -> None:
    """Simulate whole jobs under faults.

    Every seed is a schedule of faults that can be repeated.
    """
    one_thread_each()
    if options.seed < 0:
        _play_many(_play_jobs, options)
        return
    # Imported late: the other branch forks, which is not safe once Polars has been used.
    from cauce.lab.chaos.simulate import simulate as play

    outcome = play(options.seed)
    _print_faults(outcome)
    console().print(f"seed {outcome.seed}: {outcome.what}; {outcome.turns} turns, {len(outcome.faults)} faults")
    if outcome.problem:
        raise JobFailed(f"seed {outcome.seed}: {outcome.problem}")
    console().print("The answers are correct, and all resources were released.")


@app.command("doctors")
def doctors(options: ScheduleOptions) -> None:
    """Simulate elections and restarts under faults.

    After the last fault there must be one leader, and every process once.
    """
    if options.seed < 0:
        _play_many(_play_doctors, options)
        return
    from cauce.lab.chaos.doctors import play

    outcome = play(options.seed)
    _print_faults(outcome)
    if outcome.problem:
        raise JobFailed(f"seed {outcome.seed}: {outcome.what}: {outcome.problem}")
    console().print(
        f"seed {outcome.seed}: {outcome.what}; {len(outcome.faults)} faults; after the last one there was a leader "
        f"within {outcome.leader_s:.1f} s, and the cluster was stable after {outcome.settled_s:.1f} s"
    )


def _print_faults(outcome: _Outcome) -> None:
    for fault in outcome.faults:
        console().print(fault, soft_wrap=True)


def _play_many(play: Callable[[range], Played], options: ScheduleOptions) -> None:
    # Loaded here: it loads multiprocessing and logging, which no other command needs.
    from concurrent.futures import ProcessPoolExecutor

    started = time.monotonic()
    seeds = range(options.first, options.first + options.schedules)
    done = faults = 0
    problems: list[str] = []
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    with ProcessPoolExecutor(options.processes or cores()) as pool:
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
    from cauce.lab.chaos.simulate import simulate as play

    return _summarise([play(seed) for seed in seeds])


def _play_doctors(seeds: range) -> Played:
    from cauce.lab.chaos.doctors import play

    return _summarise([play(seed) for seed in seeds])


class _Outcome(Protocol):
    seed: int
    what: str
    faults: list[str]
    problem: str


def _summarise(outcomes: Sequence[_Outcome]) -> Played:
    bad = [f"seed {each.seed}: {each.what}: {each.problem}" for each in outcomes if each.problem]
    return len(outcomes), sum(len(each.faults) for each in outcomes), bad


def seconds(text: str) -> float:
    """Parses a duration such as `0.5s`, `500ms` or `2`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|)", text.strip())
    if match is None or float(match[1]) == 0:
        raise UsageError(f"invalid duration {text!r}; expected a value such as 0.5s or 500ms")
    return float(match[1]) / (1000 if match[2] == "ms" else 1)
