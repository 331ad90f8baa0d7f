"""Renders the tables of measurements in README.md and docs from results: `python -m bench.tables [--results FILE]`.

FILE is what `./cauce bench` has written; its results are added to `bench/results.json`, which the tables show. Without
it the tables are rendered again. A table stands between two comments, `<!-- table: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from bench.results import NAME, Result, add, load

ROOT = Path(__file__).parents[1]
STORED = ROOT / "bench" / NAME
PAGES = ("README.md", "docs/comparison.md", "docs/performance.md")
PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
COLUMNS: dict[str, Callable[[str], bool]] = {
    "DuckDB, loaded once": lambda name: name.startswith("DuckDB") and "loaded" in name,
    "DuckDB, files read by each query": lambda name: name.startswith("DuckDB") and "loaded" not in name,
    "Polars": lambda name: name.startswith("Polars"),
}

PEERS = {"duckdb": "DuckDB", "polars": "Polars"}
"""The peers of the short table, of each the fastest way that was measured."""

COMPARISONS = """\
All questions of a row are one job: time of the peer divided by Cauce's, answers compared. `Cauce with kills` is \
Cauce's time while a worker is killed every second, divided by that without. Peaks of memory are those of all processes.

"""
READING = """\
Files of {rows:,} rows, of which {damaged:,} are damaged (`./cauce bench --suite reading`). A time alone means that \
every intact row was found with its values; `reported` counts damaged rows that the program named.

"""


def summary(results: dict[str, Result]) -> str:
    """Times of the peers divided by Cauce's, and peaks of memory."""
    heads = [*PEERS.values(), "peak memory: Cauce", *PEERS.values()]
    return _table(heads, results, _summary_row)


def _summary_row(result: Result) -> str:
    entries = [entry for entry in result["entries"] if "wall_s" in entry and "texts" not in entry]
    cauce = entries[0]
    fastest = [sorted((each for each in entries if each["peer"] == peer), key=_median_of)[:1] for peer in PEERS]
    ratios = [f"{_median(each) / _median_of(cauce):.2f}" if each else "" for each in fastest]
    peaks = [f"{each[0]['peak_mb']:.0f} MB" if each else "" for each in ([cauce], *fastest)]
    return _row(result, [*ratios, *peaks])


def comparisons(results: dict[str, Result]) -> str:
    """Times of peers divided by Cauce's, the time of Cauce under kills divided by that without, and peaks of memory."""
    heads = [*COLUMNS, "Cauce with kills", "peak MB: Cauce", "DuckDB, loaded", "DuckDB, files", "Polars"]
    table = _table(heads, results, _comparison_row)
    return COMPARISONS + table if table else ""


def _table(heads: list[str], results: dict[str, Result], row: Callable[[Result], str]) -> str:
    shown = [row(result) for result in results.values() if "entries" in result]
    if not shown:
        return ""
    return "\n".join([f"| | files | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|", *shown]) + "\n"


def _row(result: Result, cells: list[str]) -> str:
    what = f"{result['dataset']}, {len(result['queries'])} queries"
    return f"| {what} | {result['data_mb'] / 1000:.1f} GB | {' | '.join(cells)} |"


def _comparison_row(result: Result) -> str:
    entries = [entry for entry in result["entries"] if "wall_s" in entry]
    cauce = _median_of(entries[0])
    chosen = [[entry for entry in entries if accepts(entry["name"])][:1] for accepts in COLUMNS.values()]
    ratios = [f"{_median(each) / cauce:.2f}" if each else "" for each in chosen]
    killed = [entry for entry in entries if entry.get("kills")]
    cost = f"{_median(killed) / cauce:.2f} ({_kills(killed[0])})" if killed else ""
    peaks = [f"{each[0]['peak_mb']:.0f}" if each else "" for each in ([entries[0]], *chosen)]
    return _row(result, [*ratios, cost, *peaks])


def _median(entries: list[Result]) -> float:
    return _median_of(entries[0])


def _median_of(entry: Result) -> float:
    return float(statistics.median(entry["wall_s"]))


def _kills(entry: Result) -> str:
    kills = entry["kills"]
    return f"{min(kills)} to {max(kills)} kills" if min(kills) != max(kills) else f"{kills[0]} kills"


def reading(results: dict[str, Result]) -> str:
    """What each program made of each damaged file."""
    cases = results.get("reading", {}).get("cases", [])
    if not cases:
        return ""
    names = [entry["name"] for entry in cases[0]["entries"]]
    damaged = sum(case["damaged"] for case in cases) / len(cases)
    intro = READING.format(rows=cases[0]["rows"] + cases[0]["damaged"], damaged=round(damaged))
    lines = [f"| damage | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for case in cases:
        cells = [_reading_cell(case, entry) for entry in case["entries"]]
        lines.append(f"| {case['case']} | {' | '.join(cells)} |")
    return intro + "\n".join(lines) + "\n"


def _reading_cell(case: Result, entry: Result) -> str:
    if "failure" in entry:
        return "refuses"
    seconds = f"{statistics.median(entry['wall_s']):.2f} s"
    reported = f", {entry['reported']:,} reported" if entry["reported"] else ""
    if entry["right"]:
        return f"{seconds}{reported}"
    if entry["rows"] == case["rows"]:
        return f"**wrong sum**, {seconds}{reported}"
    return f"**finds {entry['rows']:,} of {case['rows']:,} rows**, {seconds}{reported}"


TABLES: dict[str, Callable[[dict[str, Result]], str]] = {
    "summary": summary,
    "comparisons": comparisons,
    "reading": reading,
}


def rendered(text: str, results: dict[str, Result]) -> str:
    """A page with its tables rendered again."""
    return PLACE.sub(lambda found: found[1] + TABLES[found[2]](results) + found[3], text)


def main(arguments: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.tables", description=__doc__)
    parser.add_argument("--results", type=Path, metavar="FILE", help="results of ./cauce bench to add")
    given = parser.parse_args(list(arguments))
    if given.results is not None:
        add(STORED, load(given.results).values())
    for page in PAGES:
        path = ROOT / page
        path.write_text(rendered(path.read_text(encoding="utf-8"), load(STORED)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
