"""Scaling of a job of Cauce: the same queries for several sizes of data and several numbers of workers.

A `Point` holds all parameters that vary. To vary another one, add a field to it, a column to the table and a loop to
`grid`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import data, report
from bench.commands import Job, cauce
from bench.measure import Measured, rounds_of, side_by_side

HEAD = (
    "| scale | workers | data MB | time, ratio | time per MB, ratio | speed-up | CPU, ratio | peak MB | rounds (s) |",
    "|---|---|---|---|---|---|---|---|---|",
)


@dataclass(frozen=True)
class Point:
    scale: float
    workers: int

    def __str__(self) -> str:
        return f"scale {self.scale:g}, {self.workers} worker{'s' * (self.workers != 1)}"


@dataclass(frozen=True)
class Scaling:
    dataset: str
    queries: tuple[str, ...]
    sizes_mb: Mapping[float, float]
    measured: Mapping[Point, Measured]

    @property
    def base(self) -> Point:
        """The reference for ratios: the scale nearest to 1, and the most workers."""
        scale = min(self.sizes_mb, key=lambda each: abs(each - 1))
        return Point(scale, max(point.workers for point in self.measured))


def grid(scales: Sequence[float], workers: Sequence[int]) -> list[Point]:
    return [Point(scale, count) for scale in sorted(scales) for count in sorted(workers)]


def run(
    dataset: str, queries: tuple[str, ...], points: Sequence[Point], rounds: int, cache: Path, scratch: Path
) -> Scaling:
    folders = {scale: data.generated(cache, dataset, scale) for scale in sorted({point.scale for point in points})}
    commands = {
        str(point): cauce(
            Job(dataset, folders[point.scale], queries, point.workers), scratch / f"{point.scale:g}-{point.workers}"
        ).command
        for point in points
    }
    found = side_by_side(commands, rounds)
    sizes = {scale: data.size_mb(folder) for scale, folder in folders.items()}
    return Scaling(dataset, queries, sizes, {point: found[str(point)] for point in points})


def markdown(scaling: Scaling) -> str:
    queries = ", ".join(scaling.queries)
    lines = [f"{report.machine_line()}.", "", f"## {scaling.dataset}: {queries}; ratios to {scaling.base}", "", *HEAD]
    return "\n".join(lines + [_row(scaling, point) for point in scaling.measured]) + "\n"


def _row(scaling: Scaling, point: Point) -> str:
    measured, size_mb = scaling.measured[point], scaling.sizes_mb[point.scale]
    to_base = report.ratios(measured, scaling.measured[scaling.base])
    per_mb = to_base.time * scaling.sizes_mb[scaling.base.scale] / size_mb
    fewest = min((each for each in scaling.measured if each.scale == point.scale), key=lambda each: each.workers)
    speed_up = scaling.measured[fewest].median_s / measured.median_s
    cells = (
        f"{point.scale:g}", str(point.workers), f"{size_mb:,.0f}", f"{to_base.time:.2f}", f"{per_mb:.2f}",
        f"{speed_up:.2f}", f"{to_base.cpu:.2f}", f"{measured.peak_mb:.0f}", rounds_of(measured),
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def as_json(scaling: Scaling) -> str:
    points = [
        asdict(point) | {"data_mb": round(scaling.sizes_mb[point.scale], 1)} | report.measured_json(measured)
        for point, measured in scaling.measured.items()
    ]
    found = {"machine": report.machine(), "dataset": scaling.dataset, "queries": scaling.queries, "points": points}
    return json.dumps(found, indent=2) + "\n"


def draw(scaling: Scaling, stem: Path) -> None:
    from bench.chart import Line, line_chart

    base_s = scaling.measured[scaling.base].median_s
    workers = sorted({point.workers for point in scaling.measured})
    times, peaks = [], []
    for count in workers:
        points = [point for point in scaling.measured if point.workers == count]
        sizes = [scaling.sizes_mb[point.scale] for point in points]
        label = f"{count} worker{'s' * (count != 1)}"
        times.append(Line(label, sizes, [scaling.measured[point].median_s / base_s for point in points]))
        peaks.append(Line(label, sizes, [scaling.measured[point].peak_mb for point in points]))
    panels = [
        (f"Cauce, {scaling.dataset}: time", "data, MB", f"time ÷ time of {scaling.base}", times),
        (f"Cauce, {scaling.dataset}: memory", "data, MB", "peak of all processes, MB", peaks),
    ]
    line_chart(panels, stem)
