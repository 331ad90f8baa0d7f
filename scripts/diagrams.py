"""Puts the plans of the four datasets into docs/architecture.md as diagrams: `.venv/bin/python scripts/diagrams.py`.

A diagram shows what the planner made, with fewer words than `./cauce explain` and nothing besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from cauce.datasets import BUILT_IN, load
from cauce.plan.explain import queries_of
from cauce.plan.physical import Edge, Plan, Stage

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
PARTITIONS = 2
ARROWS = {"hash": "-->", "gather": "-->", "broadcast": "-.->", "ordered": "==>"}
_TWICE = re.compile(r"^(.+), \1$")
_PLACE = re.compile(r"(<!-- plan: (\w+) -->\n).*?(<!-- end of plan -->)", re.DOTALL)


def with_diagrams(page: str) -> str:
    """The page, with each plan in its place as it is now."""
    return _PLACE.sub(lambda found: f"{found[1]}```mermaid\n{diagram(found[2])}```\n{found[3]}", page)


def diagram(dataset: str) -> str:
    plan = load(dataset).plan([], {}, PARTITIONS)
    lines = ["flowchart LR", *_nodes(plan), *dict.fromkeys(_arrows(plan))]
    return "\n    ".join(lines) + "\n"


def _nodes(plan: Plan) -> Iterator[str]:
    for table in plan.tables:
        yield f"{_table_id(table.name)}[({table.name})]"
    for stage in plan.stages:
        # Two joins on one key that were made one stage.
        name = _TWICE.sub(r"\1", stage.name)
        shown = name.removeprefix("answer ") if stage.result else f"{name}<br/>{' '.join(queries_of(plan, stage))}"
        yield f'{_id(plan, stage)}(["{shown}"])' if stage.result else f'{_id(plan, stage)}["{shown}"]'


def _arrows(plan: Plan) -> Iterator[str]:
    for stage in plan.stages:
        if stage.table is not None:
            yield f"{_table_id(stage.table.name)} --> {_id(plan, stage)}"
    for stage in plan.stages:
        for edge in stage.sends:
            for reader in plan.stages:
                if edge.number in reader.receives:
                    yield f"{_id(plan, stage)} {ARROWS[edge.spread]}{_label(edge)} {_id(plan, reader)}"


def _label(edge: Edge) -> str:
    words = {"hash": f"by {', '.join(edge.keys)}", "broadcast": "whole", "ordered": "in input order", "gather": ""}
    return f'|"{words[edge.spread]}"|' if words[edge.spread] else ""


def _table_id(table: str) -> str:
    return f"t_{table}"


def _id(plan: Plan, stage: Stage) -> str:
    return f"s{plan.stages.index(stage)}"


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [name for name in BUILT_IN if f"<!-- plan: {name} -->" not in page]
    if missing:
        raise SystemExit(f"{PAGE} has no place for {', '.join(missing)}")
    PAGE.write_text(with_diagrams(page), encoding="utf-8")


if __name__ == "__main__":
    main()
