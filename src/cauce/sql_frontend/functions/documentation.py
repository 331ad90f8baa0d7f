"""The tables of functions in docs/sql.md, generated from the definitions.

python -m cauce.sql_frontend.functions.documentation docs/sql.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from cauce.sql_frontend.binding.aggregates import AGGREGATES
from cauce.sql_frontend.binding.windows import WINDOW_FUNCTIONS
from cauce.sql_frontend.functions.catalogue import TABLE
from cauce.sql_frontend.functions.conditional import CONSTRUCTS
from cauce.sql_frontend.functions.table import Function

_SECTION = re.compile(r"(<!-- functions -->\n).*?(<!-- end of functions -->)", re.DOTALL)
_OPERATORS = ("like", "ilike", "like_escape", "ilike_escape", "glob", "<<", ">>")


def with_functions(document: str) -> str:
    """The document with its section of functions as the definitions have it."""
    return _SECTION.sub(lambda found: f"{found[1]}{functions_text()}{found[2]}", document)


def functions_text() -> str:
    groups = dict.fromkeys(function.group for function in TABLE.functions() if function.group)
    parts = [_table(group, map(_row, _of_group(group))) for group in groups]
    parts.append(_table("Conditional", ((f"`{shown}`", doc, f"`{example}`") for shown, doc, example in CONSTRUCTS)))
    aggregates = {each.name: each for each in AGGREGATES.values()}.values()
    parts.append(_table("Aggregate", ((f"`{each.name}`", each.doc, f"`{each.example}`") for each in aggregates)))
    windows = WINDOW_FUNCTIONS.values()
    parts.append(_table("Window", ((f"`{each.name}`", each.doc, f"`{each.example}`") for each in windows)))
    return "\n".join(parts) + "\n"


def _of_group(group: str) -> list[Function]:
    return sorted((each for each in TABLE.functions() if each.group == group), key=lambda each: each.name)


def _row(function: Function) -> tuple[str, str, str]:
    others = f" Also {', '.join(f'`{name}`' for name in function.aliases)}." if function.aliases else ""
    shown = function.example if function.name in _OPERATORS else function.signature
    return f"`{shown}`", f"{function.doc}{others}", f"`{function.example}`" if function.example else ""


def _table(group: str, rows: Iterable[tuple[str, str, str]]) -> str:
    lines = [f"### {group}", "", "| function | value | example |", "|---|---|---|"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    path = Path(sys.argv[1])
    path.write_text(with_functions(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
