"""`cauce chaos power`: cuts the power of a fabric, of runs and of a service on a disk that loses unsynced data."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from cauce.cli.lab.chaos import PowerChaosOptions
from cauce.cli.lab.demo_service import show
from cauce.client import Settings
from cauce.errors import JobFailed, UsageError
from cauce.lab.chaos.run import same_answers
from cauce.lab.chaos.service import Clients, Tally
from cauce.lab.generators import generate
from cauce.lab.power.record_trial import RecordTrial
from cauce.lab.power.run_trial import RunTrial
from cauce.lab.power.service_trial import ServiceTrial
from cauce.lab.power.volatile_disk import VolatileDisk
from cauce.lab.power.volatile_tree import CutReport, Survivors
from cauce.terminal.console import check_out, print_line

DATASET = "movies"
SCALE = 0.002
CUTS = 5
CHANGES = 800
CLIENTS = 2
SURVIVORS: dict[str, Survivors] = {"none": "none", "ordered": "ordered"}


class PowerRounds:
    """Each round has a new disk for each of its three trials, and a seed of its own."""

    def __init__(self, out: Path, survivors: Survivors) -> None:
        self._out = out
        self._survivors = survivors
        self.cuts: list[CutReport] = []

    def prepare(self) -> None:
        """Generates the data, and the expected answers by a run without cuts."""
        generate(DATASET, self._out / "data" / DATASET, scale=SCALE, seed=0)
        with self._disk() as disk:
            RunTrial("run", self._arguments(self._out / "answers" / DATASET), 0, 0, 1).play(disk)

    def play(self, seed: int) -> None:
        with self._disk() as disk:
            self._play_records(disk, seed)
        with self._disk() as disk:
            self._play_run(disk, seed)
        with self._disk() as disk:
            self._play_service(disk, seed)

    def _disk(self) -> VolatileDisk:
        return VolatileDisk(self._out / "disk")

    def _arguments(self, out: Path) -> list[str]:
        data = str(self._out / "data" / DATASET)
        return [DATASET, "--data", data, "--out", str(out), "--part-bytes", "50000", "--workers", "2"]

    def _play_records(self, disk: VolatileDisk, seed: int) -> None:
        trial = RecordTrial(disk, seed, self._survivors)
        trial.play(CUTS)
        self._add(trial.reports, f"seed {seed}, fabric: {len(trial.confirmed):,} confirmed, {len(trial.lost):,} lost")
        if trial.lost:
            raise JobFailed(f"seed {seed}: confirmed steps were lost, such as {' '.join(min(trial.lost))}")

    def _play_run(self, disk: VolatileDisk, seed: int) -> None:
        out = self._out / "faulty"
        shutil.rmtree(out, ignore_errors=True)
        trial = RunTrial("run", self._arguments(out), seed, CUTS, CHANGES, self._survivors)
        trial.play(disk)
        different = same_answers(self._out / "answers" / DATASET, out)
        self._add(trial.reports, f"seed {seed}, run: {len(different)} answers differ")
        if different:
            raise JobFailed(f"seed {seed}: the answers of a run differ: {', '.join(different)}")

    def _play_service(self, disk: VolatileDisk, seed: int) -> None:
        tally = Tally(show)
        trial = ServiceTrial(disk, tally, seed, self._out / "service.log", self._survivors)
        settings = Settings(part_bytes=16_000)
        clients = Clients(trial.url, self._out / "data", self._out / "answers", tally, settings, [DATASET])
        trial.play(clients, CLIENTS, cuts=CUTS)
        self._add(trial.reports, f"seed {seed}, service: {tally.jobs} jobs, {len(tally.problems)} problems")
        if tally.problems:
            raise JobFailed(f"seed {seed}: {tally.problems[0]}")

    def _add(self, reports: Sequence[CutReport], text: str) -> None:
        self.cuts += reports
        print_line(f"{text}; {summary(reports)}")


def summary(reports: Sequence[CutReport]) -> str:
    writes, names = sum(each.dropped_writes for each in reports), sum(each.dropped_names for each in reports)
    return f"{len(reports)} cuts dropped {writes:,} unsynced writes and {names:,} changes of names"


def play_power(options: PowerChaosOptions) -> None:
    survivors = SURVIVORS.get(options.survivors)
    if survivors is None:
        raise UsageError(f"unknown value {options.survivors} of --survivors; expected one of {', '.join(SURVIVORS)}")
    check_out(options.out)
    rounds = PowerRounds(options.out, survivors)
    deadline = time.monotonic() + options.minutes * 60
    rounds.prepare()
    seed = options.seed
    while seed == options.seed or time.monotonic() < deadline:
        rounds.play(seed)
        seed += 1
    print_line(f"{seed - options.seed} rounds: {summary(rounds.cuts)}.")
    print_line("Everything confirmed was there after each cut, and every answer is correct, byte for byte.")
