"""The templates of sqlglot's printer that are parsed when they are used, in a process that has not loaded it before."""

from __future__ import annotations

import subprocess
import sys


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", f"from cauce.sql_frontend import grammar\n{code}"], check=True)


def test_templates_are_trees_for_everyone_who_reads_them() -> None:
    run(
        "from sqlglot import exp\n"
        "from sqlglot.generators.duckdb import DuckDBGenerator\n"
        "from cauce.sql_frontend.deferred_templates import _Template\n"
        "deferred = [name for name, value in vars(DuckDBGenerator).items() if isinstance(value, _Template)]\n"
        "assert len(deferred) > 10\n"
        "assert all(isinstance(getattr(DuckDBGenerator, name), exp.Expr) for name in deferred)\n"
        "assert exp.maybe_parse('1') == exp.Literal.number(1)"
    )


def test_functions_of_other_dialects_are_still_printed() -> None:
    run(
        "import sqlglot\n"
        "printed = sqlglot.parse_one('SELECT ZIPF(1, 10, RANDOM())', read='snowflake').sql(dialect='duckdb')\n"
        "assert 'cdf' in printed, printed"
    )
