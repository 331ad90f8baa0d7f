"""Mutated SQL texts: tokens dropped, repeated, swapped and replaced. Equal for equal seeds."""

from __future__ import annotations

import random
import re

_TOKEN = re.compile(r"'(?:[^']|'')*'|\w+|\s+|[^\w\s]")
_STRAY = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "OVER", "(", ")", ",", "'", "*", "JOIN", "ON", "nosuch", "nosuch(1)", "1",
    "NULL", "INTERVAL", "CASE", "END", "::", ";", "$1", "?", "--", "/*", "[", "]", "LATERAL", "PIVOT", "RECURSIVE",
    "UPDATE", "\u00e9", "\x00", "0x", "1e", "@", "{", "DISTINCT", "ORDER BY", "LIMIT", "UNION", "'2024-13-01'", "1.2.3",
)  # fmt: skip


def mutated(choose: random.Random, text: str) -> str:
    tokens = _TOKEN.findall(text)
    for _ in range(choose.randint(1, 3)):
        at = choose.randrange(len(tokens)) if tokens else 0
        match choose.randint(0, 5):
            case 0 if tokens:
                del tokens[at]
            case 1 if tokens:
                tokens.insert(at, tokens[at])
            case 2 if tokens:
                other = choose.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens.insert(at, f" {choose.choice(_STRAY)} ")
            case 4 if tokens:
                tokens[at] = f" {choose.choice(_STRAY)} "
            case _:
                tokens = tokens[:at]
    return "".join(tokens)
