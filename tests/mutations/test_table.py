"""The table of mutations fits the sources: every old text occurs exactly once, and every named test exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.mutations.mutation import Mutation
from tests.mutations.source_copy import ROOT, occurrences
from tests.mutations.table import ATTACKS, MUTATIONS

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


@cache
def functions_of(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_each_old_text_occurs_once_and_is_changed(mutation: Mutation) -> None:
    assert occurrences(ROOT, mutation) == [1] * len(mutation.replacements)
    assert mutation.replacements
    assert all(each.old != each.new for each in mutation.replacements)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_each_named_test_exists(mutation: Mutation) -> None:
    assert mutation.tests
    for test in mutation.tests:
        file, _, function = test.partition("::")
        assert function.partition("[")[0] in functions_of(ROOT / file), test


def test_only_the_program_is_mutated() -> None:
    files = {each.file.partition("/")[0] for mutation in MUTATIONS for each in mutation.replacements}
    assert files <= {"src", "scripts"}


def test_names_are_unique_and_in_kebab_case() -> None:
    names = [each.name for each in MUTATIONS]
    assert len(set(names)) == len(names)
    assert [name for name in names if not NAME.fullmatch(name)] == []
    assert len({each.heading for each in ATTACKS}) == len(ATTACKS)
