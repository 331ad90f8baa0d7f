"""Word pools of `vocabulary.toml`, and phrases made of them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Formatter

from cauce.lab.generators.draw import Draw

Words = Mapping[str, Sequence[str]]
_ARTICLE = re.compile(r"\b([Aa]) ([aeiouAEIOU])")


def phrases(draw: Draw, patterns: Sequence[str], words: Words, count: int) -> list[str]:
    """`count` phrases, each a pattern drawn at random with every {slot} filled from its words."""
    parsed = [
        [(literal, words[slot] if slot else ()) for literal, slot, _, _ in Formatter().parse(pattern)]
        for pattern in patterns
    ]
    slots = max(len(parts) for parts in parsed)
    which = draw.below(len(parsed), count).tolist()
    fills = draw.below(1 << 30, count * slots).tolist()
    made = []
    for number, pattern in enumerate(which):
        at = number * slots
        text = ""
        for offset, (literal, options) in enumerate(parsed[pattern]):
            text += literal + options[fills[at + offset] % len(options)] if options else literal
        made.append(_ARTICLE.sub(r"\1n \2", text))
    return made


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


VOCABULARY = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))


def _words(name: str) -> tuple[str, ...]:
    return tuple(VOCABULARY["words"][name].split())


GIVEN = _words("given")
FAMILY = _words("family")
PLACES = _words("places")
NOUNS = _words("nouns")
ADJECTIVES = _words("adjectives")
PEOPLE = _words("people")
PATTERNS: Words = VOCABULARY["patterns"]
SUBJECTS = tuple(VOCABULARY["words"]["subjects"])
