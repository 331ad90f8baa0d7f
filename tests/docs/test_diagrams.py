"""The diagrams of plans are up to date, and every diagram has valid syntax."""

from __future__ import annotations

import re

import pytest
from scripts.diagrams import PAGE, diagram, with_diagrams

from cauce.datasets import BUILT_IN, load
from tests.docs.pages import PAGES, Block, blocks, text_of

KINDS = ("flowchart ", "sequenceDiagram\n", "stateDiagram-v2\n")
DIAGRAMS = [block for page in PAGES for block in blocks(page) if block.language == "mermaid"]


def test_plans_are_up_to_date() -> None:
    page = text_of(PAGE)
    assert with_diagrams(page) == page, "run .venv/bin/python scripts/diagrams.py"
    assert re.findall(r"<!-- plan: (\w+) -->", page) == list(BUILT_IN)


@pytest.mark.parametrize("dataset", BUILT_IN)
def test_plan_diagram_has_every_stage_and_answer(dataset: str) -> None:
    drawn = diagram(dataset)
    plan = load(dataset).plan([], {}, 2)
    assert len(re.findall(r"^ +s\d+[\[(]", drawn, re.MULTILINE)) == len(plan.stages)
    assert all(f'(["{query}"])' in drawn for query in plan.results)


@pytest.mark.parametrize("block", DIAGRAMS, ids=str)
def test_diagram_has_a_known_type_and_balanced_blocks(block: Block) -> None:
    assert block.code.startswith(KINDS)
    opened = len(re.findall(r"^\s*(?:subgraph|alt|opt|loop|par|rect|critical) ", block.code, re.MULTILINE))
    assert len(re.findall(r"^\s*end$", block.code, re.MULTILINE)) == opened


@pytest.mark.parametrize("block", [each for each in DIAGRAMS if each.code.startswith("sequence")], ids=str)
def test_sequence_participants_are_declared(block: Block) -> None:
    known = set(re.findall(r"(?:participant|actor) (\w+)", block.code))
    arrows = re.findall(r"^\s*(\w+) ?-{1,2}(?:>>|x|\)) ?[+-]?(\w+) ?:", block.code, re.MULTILINE)
    assert arrows
    assert {name for arrow in arrows for name in arrow} == known
