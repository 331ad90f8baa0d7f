"""Writes plain values as YAML. We only ever write it, and only maps, lists, texts and numbers: for that these lines do,
where a library would be one more thing that every user installs. Nothing is read here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

Value = str | int | float | bool | Sequence["Value"] | Mapping[str, "Value"]
Map = dict[str, Value]

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"}
"""What some readers take for something else than a text."""


class Octal(int):
    """A mode of a file, to be shown as people write it."""


def written(value: Mapping[str, Value], *comment: str) -> str:
    """One document, below lines of comment."""
    return "\n".join([*(f"# {line}".rstrip() for line in comment), *_lines(value)]) + "\n"


def _lines(value: Value) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _after(f"{_scalar(key)}:", inner, "  ")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            first, *rest = _lines(inner) if _is_nested(inner) else [_flat(inner)]
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)


def _after(key: str, value: Value, indent: str) -> Iterator[str]:
    if isinstance(value, str) and _is_block(value):
        yield f"{key} |"
        yield from (f"{indent}{line}".rstrip() for line in value.splitlines())
    elif _is_nested(value):
        yield key
        yield from (f"{indent}{line}" for line in _lines(value))
    else:
        yield f"{key} {_flat(value)}"


def _is_block(text: str) -> bool:
    """Whether it comes back as it was when its lines are written as they are."""
    lines = text.split("\n")
    ends_well = len(lines) > 1 and lines.pop() == "" and lines[-1] != ""
    return (
        ends_well and not lines[0][:1].isspace() and all(line.isprintable() and line == line.rstrip() for line in lines)
    )


def _is_nested(value: Value) -> bool:
    """Whether it takes lines of its own. A list of plain values stays on its line."""
    if isinstance(value, Mapping):
        return bool(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(isinstance(inner, Mapping | list | tuple) for inner in value)
    return False


def _flat(value: Value) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_scalar(inner) for inner in value) + "]"
    return _scalar(value)


def _scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Octal):
        return f"0o{value:o}"
    if isinstance(value, int | float):
        return str(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"
