"""Writes the reference of the public Python API as Markdown, from signatures and docstrings: `reference.py DIRECTORY`.

It covers the names that `cauce`, `cauce.plan`, `cauce.agg`, `cauce.window` and `cauce.client` list in `__all__`, with
their public methods. All explanations come from the docstrings.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import cauce
import cauce.client
import cauce.errors
import cauce.plan
from cauce.operators import order
from cauce.plan import agg, outputs, window
from cauce.runner.answers import Answers
from cauce.scan.cells.kinds import Kind

WIDTH = 90
"""Signatures that are longer have one line for each parameter."""
DECLARING = (order, outputs)
"""Modules that declare public constants."""


class Raw(str):
    """An annotation that is shown as it is written, without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


@dataclass(frozen=True)
class Entry:
    """A public name, `shown` as a program writes it."""

    shown: str
    value: object


@dataclass(frozen=True)
class Page:
    title: str
    introduction: str
    entries: tuple[Entry, ...]

    def markdown(self) -> str:
        parts = [f"# {self.title}", self.introduction, *(text for each in self.entries for text in described(each))]
        return "\n\n".join(part for part in parts if part) + "\n"


def pages() -> dict[str, Page]:
    """The pages of the reference by file name, in their order."""
    plan = {name: Entry(f"cauce.{name}", getattr(cauce.plan, name)) for name in cauce.plan.__all__}
    kinds = tuple(each for each in plan.values() if isinstance(each.value, type) and issubclass(each.value, Kind))
    modules = tuple(each for each in plan.values() if isinstance(each.value, ModuleType))
    columns = (*(each for each in plan.values() if isinstance(each.value, outputs.Output)), plan["decimal"])
    first = tuple(plan[name] for name in ("Dataset", "Parameter", "Table", "Column", "Relation"))
    others = tuple(each for each in plan.values() if each not in (*first, *kinds, *modules, *columns))
    running = [Entry(f"cauce.{name}", getattr(cauce, name)) for name in ("run", "sql", "connect")]
    return {
        "running.md": Page("Running queries", "", (*running, Entry("Answers", Answers))),
        "datasets.md": Page("Datasets and relations", "", (*first, *others)),
        "kinds.md": Page("Kinds of cells", "", kinds),
        "outputs.md": Page("Columns of answers", inspect.getdoc(outputs) or "", columns),
        "aggregates.md": Page("Aggregates", body(inspect.getdoc(agg) or ""), entries_of(agg, "agg")),
        "windows.md": Page("Window functions", body(inspect.getdoc(window) or ""), entries_of(window, "window")),
        "client.md": Page("The service", body(inspect.getdoc(cauce.client) or ""), entries_of(cauce.client, "")),
        "errors.md": Page("Errors", tree(inspect.getdoc(cauce.errors) or ""), ()),
    }


def entries_of(module: ModuleType, prefix: str) -> tuple[Entry, ...]:
    return tuple(Entry(".".join(filter(None, (prefix, name))), getattr(module, name)) for name in module.__all__)


def described(entry: Entry) -> Iterator[str]:
    """The Markdown of a name, then of its members if it is a class with some."""
    yield f"## {entry.shown}"
    if callable(entry.value):
        yield code(entry.shown + signature(entry.value))
        yield body(docstring(entry.value))
    else:
        yield code(f"{entry.shown}  # {entry.value!r}")
        yield body(constant(entry))
    if isinstance(entry.value, type):
        for name, member in members(entry.value):
            yield f"### {entry.shown.rpartition('.')[2]}.{name}"
            if inspect.isroutine(member):
                yield code(name + signature(member, bound=True))
            yield body(inspect.getdoc(member) or "")


def members(described_class: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class. Those of a kind are for the scanner."""
    for name, member in vars(described_class).items() if not issubclass(described_class, Kind) else ():
        value = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            yield name, value


def docstring(value: object) -> str:
    """Its own, not one that it inherits."""
    return inspect.cleandoc(value.__doc__ or "")


def constant(entry: Entry) -> str:
    """The text below its assignment, or else what its class says."""
    name = entry.shown.rpartition(".")[2]
    found = next(filter(None, (text_below(module, name) for module in DECLARING)), None)
    return found or docstring(type(entry.value))


def text_below(module: ModuleType, name: str) -> str:
    statements = ast.parse(inspect.getsource(module)).body
    for statement, following in pairwise(statements):
        match statement, following:
            case ast.Assign(targets=[ast.Name(id=assigned)]), ast.Expr(value=ast.Constant(value=str(text))):
                if assigned == name:
                    return inspect.cleandoc(text)
    return ""


def signature(value: Callable[..., Any], *, bound: bool = False) -> str:
    try:
        found = inspect.signature(value)
    except ValueError:
        return "()"
    parameters = [shown_parameter(each) for each in found.parameters.values()][1 if bound else 0 :]
    result = found.return_annotation
    plain = found.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    arrow = "" if isinstance(value, type) or result in (inspect.Signature.empty, "None") else f" -> {raw(result)}"
    line = f"{plain}{arrow}"
    return line if len(line) <= WIDTH else f"(\n{textwrap.indent(separate(plain), '    ')}){arrow}"


def shown_parameter(parameter: inspect.Parameter) -> inspect.Parameter:
    """Defaults that are made for each call have no text of their own."""
    default = Raw("…") if repr(parameter.default) == "<factory>" else parameter.default
    annotation = parameter.annotation if parameter.annotation is parameter.empty else Raw(raw(parameter.annotation))
    return parameter.replace(annotation=annotation, default=default)


def raw(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def separate(found: inspect.Signature) -> str:
    """The parameters on lines of their own."""
    lines, keyword_only = [], False
    for each in found.parameters.values():
        keyword_only = keyword_only or each.kind is each.VAR_POSITIONAL
        if each.kind is each.KEYWORD_ONLY and not keyword_only:
            lines.append("*,\n")
            keyword_only = True
        lines.append(f"{each},\n")
    return "".join(lines)


def body(text: str) -> str:
    """A docstring as Markdown: examples become blocks of code."""
    single = re.sub(r"(?<!`)``(?!`)", "`", text)
    return re.sub(r"(?:^(?:>>>|\.\.\.).*\n?)+", lambda found: example(found[0]), single, flags=re.MULTILINE)


def example(lines: str) -> str:
    return code("\n".join(line[4:] for line in lines.splitlines()))


def tree(text: str) -> str:
    """The first sentence, and the rest as it stands."""
    first, _, rest = text.partition("\n\n")
    return f"{first}\n\n```\n{rest}\n```"


def code(text: str) -> str:
    return f"```python\n{text}\n```"


def main(arguments: Sequence[str]) -> None:
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in pages().items():
        (folder / name).write_text(page.markdown(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
