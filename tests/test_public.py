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
    "TIMESTAMPTZ",
    "DECIMAL",
    "POSITION",
    "TEXT",
    "TEXT_LIST",
    "TIMESTAMP",
    "Aggregate",
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
    "agg",
    "asc",
    "decimal",
    "desc",
    "divide",
    "divide_half_even",
    "ratio",
    "window",
}


def test_the_package_exports_exactly_these_names() -> None:
    assert set(cauce.__all__) == {"__version__", "connect", "run", "sql"}


def test_dataset_api_exports_exactly_these_names() -> None:
    assert set(cauce.plan.__all__) == PLAN


@pytest.mark.parametrize("module", [cauce, cauce.plan], ids=lambda module: module.__name__)
def test_exported_names_are_unique(module: object) -> None:
    names = module.__all__  # type: ignore[attr-defined]
    assert len(names) == len(set(names))
    assert all(hasattr(module, name) for name in names)


def test_reading_the_version_does_not_load_the_engine() -> None:
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


AGGREGATES = {
    *("all", "any", "any_value", "arg_max", "arg_min", "corr", "count", "cov", "first", "last", "list", "max", "mean"),
    *(
        "median",
        "min",
        "mode",
        "mode_count",
        "n_unique",
        "quantile",
        "quantile_disc",
        "std",
        "string_agg",
        "sum",
        "var",
    ),
}


def test_the_aggregates() -> None:
    assert set(cauce.agg.__all__) == AGGREGATES
    assert {name for name in dir(cauce.agg) if name in AGGREGATES} == AGGREGATES


@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_every_aggregate_has_an_example(name: str) -> None:
    assert f"agg.{name}(" in (getattr(cauce.agg, name).__doc__ or "")


@pytest.mark.parametrize("name", sorted(PLAN))
def test_names_for_datasets_are_names_of_the_package(name: str) -> None:
    assert getattr(cauce, name) is getattr(cauce.plan, name)
    assert name in dir(cauce)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Tabel'"):
        cauce.Tabel  # noqa: B018


def documented() -> dict[str, object]:
    """Every public function and method of a dataset file, by name."""
    functions = {
        name: getattr(cauce.plan, name) for name in ("asc", "decimal", "desc", "divide", "divide_half_even", "ratio")
    }
    functions |= {f"window.{name}": getattr(cauce.window, name) for name in cauce.window.__all__}
    for kind in (cauce.Relation, cauce.plan.relation.Grouped):
        methods = {name: each for name, each in vars(kind).items() if not name.startswith("_") and callable(each)}
        functions |= {f"{kind.__name__}.{name}": each for name, each in methods.items()}
    return functions


@pytest.mark.parametrize("name", documented())
def test_every_public_function_shows_an_example(name: str) -> None:
    assert ">>> " in (documented()[name].__doc__ or "")


WINDOW_FUNCTIONS = {
    *("count", "cume_dist", "dense_rank", "first_value", "groups", "lag", "last_value", "lead", "max", "mean", "min"),
    *("nth_value", "ntile", "over", "percent_rank", "range", "rank", "row_number", "rows", "sum"),
}


def test_the_window_functions() -> None:
    assert set(cauce.window.__all__) == WINDOW_FUNCTIONS


def test_a_dataset_file_needs_no_import_of_cauce_but_the_package() -> None:
    code = "import cauce, sys; sys.exit(not all(hasattr(cauce, name) for name in sys.argv[1:]))"
    assert subprocess.run([sys.executable, "-c", code, *PLAN], check=False).returncode == 0
