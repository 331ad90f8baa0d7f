"""`./cauce bench --suite reading`: files with damaged rows, read by Cauce, DuckDB and Polars."""

from __future__ import annotations

import csv
import json
import math
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.comparison import log, reason
from bench.measure import CommandFailed, Measured, timed, warm, watched
from bench.options import Options
from bench.reading import INTACT
from bench.reading.files import CASES, ROWS, File, generated
from bench.report import measured_json
from cauce.process.starting import module_command

CAUCE = "Cauce"
PROGRAMS = {
    "duckdb": "DuckDB",
    "duckdb-lenient": "DuckDB, strict_mode=false, store_rejects=true",
    "polars": "Polars",
    "polars-lenient": "Polars, ignore_errors, truncate_ragged_lines, utf8-lossy",
}
QUESTION = f"SELECT count(*) AS n, sum(amount) AS amount FROM visits WHERE status = '{INTACT}'"
TOLERANCE = 1e-9
"""Relative: peers may add floats. A missing row changes the sum of half a million by a millionth."""


@dataclass
class Reading:
    """How a program read a file: what it found, or why it refused."""

    program: str
    file: File
    measured: Measured = field(default_factory=Measured)
    refusal: str = ""
    rows: int = 0
    """Intact rows."""
    amount: float = 0.0
    reported: int = 0
    """Damaged rows that it named."""

    @property
    def right(self) -> bool:
        expected = self.file.cents / 100
        same = math.isclose(self.amount, expected, rel_tol=TOLERANCE)
        return not self.refusal and self.rows == self.file.rows and same

    def as_json(self) -> dict[str, object]:
        facts: dict[str, object] = {"name": self.program, "right": self.right}
        if self.refusal:
            return facts | {"failure": self.refusal}
        found = {"rows": self.rows, "amount": self.amount, "reported": self.reported}
        return facts | found | measured_json(self.measured)


def readings(options: Options, scratch: Path) -> Iterator[Reading]:
    names = [CAUCE, *(name for name in PROGRAMS if name.partition("-")[0] in options.peers)]
    for case in CASES:
        file = generated(options.out / "data", case, max(1, round(ROWS * options.scale)))
        warm(file.folder)
        for name in names:
            log(f"reading {case.name}: {PROGRAMS.get(name, name)}")
            reading = Reading(PROGRAMS.get(name, name), file)
            _measure(reading, name, scratch / name, options)
            yield reading


def _measure(reading: Reading, name: str, out: Path, options: Options) -> None:
    command = _command(name, reading.file.folder, out, options.workers)
    try:
        shutil.rmtree(out, ignore_errors=True)
        watched(command, reading.measured)
        for _ in range(options.rounds):
            shutil.rmtree(out, ignore_errors=True)
            timed(command, reading.measured)
    except CommandFailed as problem:
        reading.refusal = reason(problem)
        return
    found = _cauce_found(out) if name == CAUCE else json.loads((out / "found.json").read_text())
    reading.rows, reading.amount, reading.reported = found["rows"], found["amount"], found["reported"]


def _command(name: str, folder: Path, out: Path, workers: int) -> list[str]:
    if name == CAUCE:
        where = ["--data", str(folder), "--out", str(out), "--workers", str(workers)]
        return module_command("cauce", "sql", QUESTION, *where)
    return [sys.executable, "-m", "bench.reading.reader", name, str(folder / "visits.csv"), str(out), str(workers)]


def _cauce_found(out: Path) -> dict[str, Any]:
    (answer,) = [path for path in out.glob("*.csv") if path.name != "rejects.csv"]
    with answer.open(newline="", encoding="utf-8") as file:
        found = next(csv.DictReader(file))
    rejects, lines = out / "rejects.csv", set()
    if rejects.is_file():
        with rejects.open(newline="", encoding="utf-8") as file:
            lines = {row["line"] for row in csv.DictReader(file)}
    return {"rows": int(found["n"]), "amount": float(found["amount"]), "reported": len(lines)}


def run(options: Options, scratch: Path) -> tuple[list[Reading], list[str]]:
    """All readings, and the problems: files that Cauce refused or read wrongly."""
    found = list(readings(options, scratch))
    wrong = [each for each in found if each.program == CAUCE and not each.right]
    return found, [f"reading, {each.file.case}: {each.refusal or 'intact rows differ'}" for each in wrong]


def as_json(found: list[Reading]) -> dict[str, object]:
    """One section with a list of cases, each with one entry for each program."""
    cases: dict[str, dict[str, object]] = {}
    for each in found:
        file = each.file
        facts = {"case": file.case, "rows": file.rows, "damaged": file.damaged, "entries": []}
        entries = cases.setdefault(file.case, facts)["entries"]
        assert isinstance(entries, list)
        entries.append(each.as_json())
    return {"dataset": "reading", "cases": list(cases.values())}
