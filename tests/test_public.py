"""The names that users may rely on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import cauce
import cauce.plan

PLAN = {
    "BOOLEAN",
    "DATE",
    "FLOAT",
    "INTEGER",
    "MOMENT",
    "PLAIN",
    "POSITION",
    "TEXT",
    "TEXTS",
    "TIMESTAMP",
    "Boolean",
    "Column",
    "Dataset",
    "Date",
    "Decimal",
    "Duration",
    "FieldList",
    "Fixed",
    "Float",
    "Identifier",
    "Integer",
    "Json",
    "Parameter",
    "Relation",
    "Table",
    "Text",
    "TextList",
    "Timestamp",
    "ZonedTimestamp",
    "count",
    "count_distinct",
    "desc",
    "divided",
    "divided_half_even",
    "first",
    "greatest",
    "least",
    "mean",
    "mode",
    "mode_count",
    "places",
    "quantile",
    "ratio",
    "scaled",
    "total",
}


def test_the_package_exports_exactly_these_names() -> None:
    assert set(cauce.__all__) == {"__version__", "connect", "run"}


def test_the_words_of_a_dataset_are_exactly_these_names() -> None:
    assert set(cauce.plan.__all__) == PLAN


@pytest.mark.parametrize("module", [cauce, cauce.plan], ids=lambda module: module.__name__)
def test_every_exported_name_is_there_once(module: object) -> None:
    names = module.__all__  # type: ignore[attr-defined]
    assert len(names) == len(set(names))
    assert all(hasattr(module, name) for name in names)


def test_a_look_at_the_version_does_not_load_the_engine() -> None:
    code = "import sys, cauce; cauce.__version__; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_another_project_sees_the_types(tmp_path: Path) -> None:
    """mypy, run in a folder of its own, follows the types of an installed package only where it has py.typed."""
    program = tmp_path / "program.py"
    program.write_text(
        "import cauce\n"
        "answers = cauce.run('books', 'data', 'q1', workers=2)\n"
        "reveal_type(answers['q1'].height)\n"
        "reveal_type(cauce.connect('http://127.0.0.1:8080').submit('books', 'data').id)\n"
        "cauce.run('books', 'data', workers='two')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", program.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert 'program.py:3: note: Revealed type is "int"' in done.stdout, done.stdout
    assert 'program.py:4: note: Revealed type is "str"' in done.stdout
    assert 'program.py:5: error: Argument "workers"' in done.stdout
    assert "Found 1 error" in done.stdout
