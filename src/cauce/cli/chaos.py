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

from cauce.cli.options import FabricOption
from cauce.cli.output import console
from cauce.errors import JobFailed, UsageError

app = typer.Typer(help="Break things on purpose.", no_args_is_help=True, rich_markup_mode=None)

CHUNK = 50

Played = tuple[int, int, list[str]]
"""How many schedules, how many faults, and what went wrong."""


@app.command("run")
def run(
    dataset: Annotated[str, typer.Argument(help="books, movies, flights, coffee, or the path of your own .py file")],
    data: Annotated[Path, typer.Option(help="folder that holds the dataset's files")],
    out: Annotated[Path, typer.Option(help="folder for the answers of both runs")],
    kill_every: Annotated[str, typer.Option(help="mean time between two faults, such as 0.5s")] = "0.5s",
    seed: Annotated[int, typer.Option(help="decides who is hit and how", min=0)] = 0,
    queries: Annotated[str, typer.Option(help="queries to answer (default: all)", metavar="q1,q3")] = "",
    workers: Annotated[int, typer.Option(help="worker processes (default: the cores)", min=0, show_default=False)] = 0,
    part_bytes: Annotated[int, typer.Option(help="bytes of a part: small ones make a long run", min=1024)] = 2**18,
    fabric: FabricOption = "",
) -> None:
    """Run a job while killing, pausing and restarting its processes; compare with a run left in peace."""
    from cauce.chaos.run import Chaos, same_answers

    arguments = [dataset, "--data", str(data), "--workers", str(workers), "--part-bytes", str(part_bytes)]
    if queries:
        arguments += ["--queries", queries]
    if fabric:
        arguments += ["--fabric", fabric]
    calm, faulty = out / "calm", out / "faulty"
    peaceful = [sys.executable, "-P", "-m", "cauce", "run", *arguments, "--out", str(calm)]
    code = subprocess.run(peaceful, stdout=subprocess.DEVNULL, check=False).returncode
    if code == 2:
        raise typer.Exit(2)
    if code != 0:
        raise JobFailed(f"the run without faults ended with exit code {code}")
    chaos = Chaos([*arguments, "--out", str(faulty)], seconds(kill_every), seed, lambda line: console().print(line))
    chaos.play()
    kills = sum(done.what == "kill" for done in chaos.done)
    if not chaos.done:
        raise JobFailed("the run was over before a fault could hit it: give it more data, or a shorter --kill-every")
    pauses = len(chaos.done) - kills
    console().print(f"{kills} kill{'s' * (kills != 1)} and {pauses} pause{'s' * (pauses != 1)}")
    different = same_answers(calm, faulty)
    if different:
        raise JobFailed(f"the answers differ: {', '.join(different)} (compare {calm} with {faulty})")
    console().print("The answers equal those of a run without faults, byte for byte.")


@app.command("service")
def service(
    out: Annotated[Path, typer.Option(help="folder for data, answers and the service")],
    minutes: Annotated[float, typer.Option(help="for how long", min=0.1)] = 10.0,
    clients: Annotated[int, typer.Option(help="clients at once", min=1, max=64)] = 4,
    kill_every: Annotated[str, typer.Option(help="mean time between two faults, such as 2s")] = "2s",
    seed: Annotated[int, typer.Option(help="decides who is hit and how", min=0)] = 0,
    scale: Annotated[float, typer.Option(help="size of the data", min=1e-4, max=1.0)] = 0.004,
    broker: Annotated[
        Path | None, typer.Option(help="folder of private broker nodes: on RabbitMQ, and nodes are killed too")
    ] = None,
    fabric: FabricOption = "",
) -> None:
    """Serve clients while processes of all roles are killed and stopped; compare every answer."""
    from cauce.cli.chaos_service import play_service

    play_service(out, minutes * 60, clients, seconds(kill_every), seed, scale, broker, fabric)


@app.command("simulate")
def simulate(
    schedules: Annotated[int, typer.Option(help="how many schedules", min=1)] = 1000,
    first: Annotated[int, typer.Option(help="seed of the first one", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="play this one alone, and tell its faults")] = -1,
    processes: Annotated[int, typer.Option(help="how many at once (default: the cores)", min=0)] = 0,
) -> None:
    """Play whole jobs under simulated faults; every seed is a schedule that can be played again."""
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
        console().print("right answers, and nothing left behind")
        return
    _play_many(_play_jobs, range(first, first + schedules), processes or os.cpu_count() or 1)


@app.command("doctors")
def doctors(
    schedules: Annotated[int, typer.Option(help="how many schedules", min=1)] = 1000,
    first: Annotated[int, typer.Option(help="seed of the first one", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="play this one alone, and tell its faults")] = -1,
    processes: Annotated[int, typer.Option(help="how many at once (default: the cores)", min=0)] = 0,
) -> None:
    """Play elections and restarts under simulated faults: there must be one leader again, and everybody once."""
    from cauce.chaos.doctors import play

    if seed >= 0:
        outcome = play(seed)
        for fault in outcome.faults:
            console().print(fault, soft_wrap=True)
        if outcome.problem:
            raise JobFailed(f"seed {seed}: {outcome.what}: {outcome.problem}")
        console().print(
            f"seed {seed}: {outcome.what}; {len(outcome.faults)} faults; after the last one there was a leader "
            f"within {outcome.leader_s:.1f} s, and everything was at rest after {outcome.settled_s:.1f} s"
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
    console().print(
        f"{done:,} schedules with {faults:,} faults: {len(problems)} wrong or hanging ({rate:.0f} a second)"
    )
    if problems:
        raise JobFailed(f"{len(problems)} schedules went wrong; each can be played again with --seed")


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
        raise UsageError(f"{text!r} is no span of time; write it as 0.5s or 500ms")
    return float(match[1]) / (1000 if match[2] == "ms" else 1)
