"""Random texts that trigger every rule of VADER, and every byte or character pattern that could mislead a kernel."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator

from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE, SPECIAL_CASES, SentimentIntensityAnalyzer


def _split(words: str) -> list[str]:
    return words.split()


_ANALYZER = SentimentIntensityAnalyzer()
_LEXICON = list(_ANALYZER.lexicon)
_COMMON = _split("good bad great awful love hate happy sad funny boring superb terrible fun smart kill LOL sux kind no")
_EMOTICONS = [word for word in _LEXICON if not any(map(str.isalnum, word))] + [":D", ":P", ":Þ", "O.o", "<3", "d:"]
_EMOJI = [emoji for emoji in _ANALYZER.emojis if len(emoji) == 1]
_SEQUENCES = [emoji for emoji in _ANALYZER.emojis if len(emoji) > 1]
_RULES = _split("but so this never without doubt least at very or nor of no kind not isn't just enough sort")
_PHRASES = [*SPECIAL_CASES, *(phrase for phrase in BOOSTER_DICT if " " in phrase), "never so", "without doubt"]
_NEUTRAL = _split("the book is a it was volume about chapter seven plot to in an author reads x 42 I we of")
_ACCENTED = _split(
    "café naïve Ærøskøbing “good” don’t ‘bad’ résumé ÉTÉ straße ÇA ñandú Ünder — … – good—bad £9 5€ l’été"
)
_ODD = [
    *(
        "Kill",
        "LİKE",
        "lıke",
        "ſad",
        "GOODß",
        "ŉt",
        "n't",
        "N'T",
        "don'T",
        "xn'ty",
        "'n't'",
        "ǅ",
        "ǅGOOD",
        "ΣΑΣ",
        "Ⓜ",
        "ª",
        "ǈ",
    ),
    *(
        "good\0",
        "\0good",
        "go\0od",
        "\x1bbad",
        "bad\x7f",
        "!",
        "?",
        "?!",
        "...",
        "a!",
        "ab!",
        "(no)",
        "NO!",
        "no?",
        "é!",
        "日本語",
    ),
    *(
        "Привет",
        "ПРИВЕТ",
        "ﬁne",
        "ＧＯＯＤ",
        "𝐆𝐎𝐎𝐃",
        "𐐀𐐁",
        "𐐨",
        "\u200bgood",
        "good\u200d",
        "\ufeffgood",
        "e\u0301",
        "É\u0301",
        "𠀀",
    ),
    *(
        "http://example.com/" + "a" * 50,
        "x" * 63,
        "x" * 64,
        "é" * 32,
        "!" * 70 + "good",
        "BUT" + "." * 80,
        "?" * 65 + "n't",
    ),
    *(
        "é" * 40 + "N'T",
        "X" * 100,
        "日" * 30 + "\u3000good",
        "-" * 61 + "ÉÉ",
        "not" + "!" * 90,
        "\u212a" + "x" * 70,
        "😁" + "x" * 70,
    ),
]
_SPACES = [
    "\t",
    "\n",
    "\r\n",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x1f",
    "\x85",
    "\xa0",
    "\u1680",
    "\u2000",
    "\u2007",
]
_SPACES += ["\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "  ", " \u3000 ", " " * 70, "\u2003" * 30]
_POOLS = [_LEXICON, _COMMON, list(BOOSTER_DICT), NEGATE, _RULES, _PHRASES, _NEUTRAL, _ACCENTED, _EMOTICONS, _ODD]
_PLAIN_WEIGHTS = [3, 5, 3, 3, 5, 2, 6, 0, 0.3, 0]
_WILD_WEIGHTS = [3, 4, 2, 2, 4, 2, 4, 3, 2, 4]


def texts(seed: int, count: int) -> Iterator[str]:
    chance = random.Random(seed)
    for _ in range(count):
        yield chance.choices(_KINDS, _KIND_WEIGHTS)[0](chance)


def _word(chance: random.Random, weights: list[float]) -> str:
    return chance.choice(chance.choices(_POOLS, weights)[0])


def _plain(chance: random.Random) -> str:
    words = [_word(chance, _PLAIN_WEIGHTS) for _ in range(chance.randint(0, 24))]
    for _ in range(len(words) // 4):
        at = chance.randrange(len(words))
        words[at] += chance.choice([".", ",", "!", "?", "!!", "...", ";", ")"])
    return " ".join(words)


def _shouting(chance: random.Random) -> str:
    cases = [str.upper, str.upper, str.lower, str.title, str.swapcase]
    return " ".join(chance.choice(cases)(_word(chance, _PLAIN_WEIGHTS)) for _ in range(chance.randint(1, 12)))


def _repeated(chance: random.Random) -> str:
    """Equal valences around "but", for the rule that finds the first of them."""
    few = [chance.choice(_COMMON) for _ in range(3)] + ["but", "BUT", "very", "not", "x"]
    return " ".join(chance.choice(few) for _ in range(chance.randint(2, 40))) + "!" * chance.choice([0, 0, 1, 5])


def _wild(chance: random.Random) -> str:
    pieces = [chance.choice(["", "", " ", "x" * chance.randrange(64)])]
    for _ in range(chance.randint(1, 14)):
        kind = chance.random()
        if kind < 0.06:
            word = chance.choice(_EMOJI) * chance.choice([1, 1, 2])
        elif kind < 0.08:
            word = chance.choice(_SEQUENCES)
        else:
            word = _word(chance, _WILD_WEIGHTS)
        if chance.random() < 0.2:
            word = "".join(chance.choices(string.punctuation, k=chance.randint(1, 3))) + word
        if chance.random() < 0.3:
            word += "".join(chance.choices(string.punctuation, k=chance.randint(1, 3)))
        pieces += [word, chance.choice(_SPACES) if chance.random() < 0.2 else chance.choice([" ", " ", " ", " ", ""])]
    return "".join(pieces)


def _mutated(chance: random.Random) -> str:
    text = list(chance.choice((_plain, _wild))(chance))
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(text))
        new = chance.choice(
            [*"!?'.K \0", "İ", "\u212a", "é", "É", "\xa0", "’", "😁", "\x85", chr(chance.randrange(0x300)), "n't"]
        )
        text[at : at + chance.randint(0, 2)] = [new] if chance.random() < 0.7 else []
    return "".join(text)


def _long(chance: random.Random) -> str:
    """Several kinds in one text of many blocks."""
    return chance.choice(" \n\xa0").join(chance.choice(_KINDS[:-1])(chance) for _ in range(chance.randint(3, 12)))


_KINDS = (_plain, _wild, _mutated, _shouting, _repeated, _long)
_KIND_WEIGHTS = (30, 25, 20, 10, 10, 5)
