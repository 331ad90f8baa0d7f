"""One JSON file with the newest result of every measurement: `results.json` in the folder of results.

`./cauce bench` adds what it has measured, and `python -m bench.tables` renders the tables of the documentation from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NAME = "results.json"
Result = dict[str, Any]
"""A section of a report, with the machine, the number of workers and of rounds."""


def load(path: Path) -> dict[str, Result]:
    """The results by key; empty if there is no such file."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def add(path: Path, sections: Iterable[Result], **facts: object) -> None:
    """Replaces earlier results of the same measurement, and keeps the others."""
    known = load(path)
    for section in sections:
        known[key(section)] = {**facts, **section}
    path.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def key(section: Result) -> str:
    """Names a measurement: what was asked over how much data."""
    if "cases" in section:
        return str(section["dataset"])
    return f"{section['dataset']} {','.join(section['queries'])} {section['data_mb'] / 1000:.1f} GB"
