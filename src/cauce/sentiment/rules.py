"""VADER's rules on numbered words: what those around a word of the lexicon do to it, and the score of the whole.

Every sum and product is made in the library's order, so that scores agree to the last bit; where a rounding could
still go either way, the text is handed back as ``UNSURE``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cauce.native import I8, Array, Struct, kernel, piece
from cauce.native.lanes import Ints
from cauce.sentiment.reading import CAPITAL, CONTRACTION, GAP, UNSURE

BOOSTS, NEGATES, OPENS, FOLLOWS = 1, 2, 4, 8
"""What a word can do beside having a valence; the last two: be the first of a phrase, the second of one."""
LEXICAL = 256
"""Words with this number or a higher one are in the lexicon."""
RULE_WORDS = ("but", "so", "this", "never", "without", "least", "at", "very", "or", "nor", "of")
BUT, SO, THIS, NEVER, WITHOUT, LEAST, AT, VERY, OR, NOR, OF = range(CONTRACTION + 1, CONTRACTION + 1 + len(RULE_WORDS))
RULE_LEXICAL_WORDS = ("no", "kind", "doubt")
NO, KIND, DOUBT = range(LEXICAL, LEXICAL + len(RULE_LEXICAL_WORDS))
NO_WORD = 0x7FFF
"""Stands third in a phrase of two words: no word has this number, not even an unknown one."""

_NUMBER = CAPITAL - 1
_BOOST_OF_CAPITALS, _NEGATION = 0.733, -0.74
_TIE = 1e-7
"""How near to half a unit a score is left to the library: far more than sums in another order can differ."""


class Rules(NamedTuple):
    """By a word's number: what it can do, and its valence or its boost. Then the phrases, the boosting ones last."""

    roles: NDArray[np.uint8]
    weights: NDArray[np.float64]
    phrases: NDArray[np.uint16]
    phrase_values: NDArray[np.float64]
    special_phrases: int


_RULES = Struct(Rules, (Array("uint8"), Array("float64"), Array("uint16", 2), Array("float64"), I8))


@piece
def _phrase(rules: Rules, begin: int, end: int, first: int, second: int, third: int) -> float:
    """The value of the phrase of two or three words, among rows ``begin`` to ``end``; NaN if there is none."""
    for row in range(begin, end):
        phrase = rules.phrases[row]
        if phrase[0] == first and phrase[1] == second and phrase[2] == third:
            return float(rules.phrase_values[row])
    return math.nan


@piece
def _joins(roles: NDArray[np.uint8], first: int, second: int) -> bool:
    """Whether a phrase may begin with these words: a quick no for nearly all."""
    return bool(roles[first] & OPENS) and bool(roles[second] & FOLLOWS)


@piece
def _idioms(rules: Rules, valence: float, three: int, two: int, one: int, zero: int, next_: int, after: int) -> float:
    special, end = rules.special_phrases, rules.phrase_values.size
    for value in (
        _phrase(rules, 0, special, one, zero, NO_WORD),
        _phrase(rules, 0, special, two, one, zero),
        _phrase(rules, 0, special, two, one, NO_WORD),
        _phrase(rules, 0, special, three, two, one),
        _phrase(rules, 0, special, three, two, NO_WORD),
    ):
        if not math.isnan(value):
            valence = value
            break
    for value in (_phrase(rules, 0, special, zero, next_, NO_WORD), _phrase(rules, 0, special, zero, next_, after)):
        if not math.isnan(value):
            valence = value
    for value in (
        _phrase(rules, special, end, three, two, one),
        _phrase(rules, special, end, three, two, NO_WORD),
        _phrase(rules, special, end, two, one, NO_WORD),
    ):
        if not math.isnan(value):
            valence += value
    return valence


@piece
def _boost(rules: Rules, word: int, valence: float, differs: bool, damped: float) -> float:
    number = word & _NUMBER
    scalar = 0.0
    if rules.roles[number] & BOOSTS:
        scalar = rules.weights[number]
        if valence < 0.0:
            scalar = -scalar
        if differs and word & CAPITAL:
            scalar += _BOOST_OF_CAPITALS if valence > 0.0 else -_BOOST_OF_CAPITALS
        scalar *= damped
    return scalar


@piece
def _valence(rules: Rules, words: NDArray[np.uint16], at: int, before: int, differs: bool) -> float:
    """The valence of a word of the lexicon that has ``before`` words before it, after what they do to it."""
    roles = rules.roles
    zero, one, two = words[at] & _NUMBER, words[at - 1] & _NUMBER, words[at - 2] & _NUMBER
    three, next_, after = words[at - 3] & _NUMBER, words[at + 1] & _NUMBER, words[at + 2] & _NUMBER
    if zero == KIND and next_ == OF:
        return 0.0
    valence = float(rules.weights[zero])
    if zero == NO and next_ >= LEXICAL:
        valence = 0.0
    if one == NO or two == NO or (three == NO and one in (OR, NOR)):
        valence = float(rules.weights[zero]) * _NEGATION
    if differs and words[at] & CAPITAL:
        valence += _BOOST_OF_CAPITALS if valence > 0.0 else -_BOOST_OF_CAPITALS
    if before > 0 and one < LEXICAL:
        valence += _boost(rules, words[at - 1], valence, differs, 1.0)
        if roles[one] & NEGATES:
            valence *= _NEGATION
    if before > 1 and two < LEXICAL:
        valence += _boost(rules, words[at - 2], valence, differs, 0.95)
        if two == NEVER and one in (SO, THIS):
            valence *= 1.25
        elif not (two == WITHOUT and one == DOUBT) and roles[two] & NEGATES:
            valence *= _NEGATION
    if before > 2 and three < LEXICAL:
        valence += _boost(rules, words[at - 3], valence, differs, 0.9)
        if (three == NEVER and two in (SO, THIS)) or one in (SO, THIS):
            valence *= 1.25
        elif not (three == WITHOUT and (two == DOUBT or one == DOUBT)) and roles[three] & NEGATES:
            valence *= _NEGATION
        if (
            _joins(roles, three, two)
            or _joins(roles, two, one)
            or _joins(roles, one, zero)
            or _joins(roles, zero, next_)
        ):
            valence = _idioms(rules, valence, three, two, one, zero, next_, after)
    if one == LEAST and (before == 1 or two not in (AT, VERY)):
        valence *= _NEGATION
    return valence


@piece
def _weigh_around(but: int, places: NDArray[np.int32], valences: NDArray[np.float64], count: int) -> None:
    """Halve what stands before "but", raise what follows: each time the first of those with an equal valence."""
    for k in range(count):
        first = 0
        while valences[first] != valences[k]:
            first += 1
        if places[first] < but:
            valences[first] *= 0.5
        elif places[first] > but:
            valences[first] *= 1.5


@piece
def _emphasis(exclamations: int, questions: int) -> float:
    emphasis = min(exclamations, 4) * 0.292
    if questions > 3:
        return emphasis + 0.96
    return emphasis + (questions * 0.18 if questions > 1 else 0.0)


@piece
def _rounded(valences: NDArray[np.float64], count: int, emphasis: float) -> int:
    """The units of a sum; UNSURE where Python's two ways to sum (compensated from 3.12 on) might part."""
    total, lost = 0.0, 0.0
    for k in range(count):
        value = valences[k]
        sum_ = total + value
        lost += (total - sum_) + value if abs(total) >= abs(value) else (value - sum_) + total
        total = sum_
    compensated = total + lost
    if (total > 0.0) != (compensated > 0.0) or (total < 0.0) != (compensated < 0.0):
        return UNSURE
    if total > 0.0:
        total += emphasis
    elif total < 0.0:
        total -= emphasis
    scaled = total / math.sqrt(total * total + 15.0) * 10_000 + 0.5
    units = math.floor(scaled)
    return units if _TIE < scaled - units < 1 - _TIE else UNSURE


@piece
def _units(
    words: NDArray[np.uint16],
    begin: int,
    end: int,
    emphasis: float,
    rules: Rules,
    hits: NDArray[np.int32],
    valences: NDArray[np.float64],
) -> int:
    found, capitals, but = 0, 0, -1
    for k in range(end - begin):
        word = words[begin + k] & _NUMBER
        capitals += words[begin + k] >> 15
        hits[found] = k
        found += word >= LEXICAL
        if word == BUT and but < 0:
            but = k
    kept = 0
    for hit in range(found):
        k = hits[hit]
        valence = _valence(rules, words, begin + k, k, 0 < capitals < end - begin)
        # Neutral words change neither the sum nor the place of the first word with any other valence.
        if valence != 0.0:
            hits[kept] = k
            valences[kept] = valence
            kept += 1
    if but >= 0:
        _weigh_around(but, hits, valences, kept)
    return _rounded(valences, kept, emphasis) if kept else 0


@kernel(
    I8, Array("uint16"), Array("int64"), Array("int64", 2), _RULES, Array("int32"), Array("int32"), Array("float64")
)
def weigh(
    words: NDArray[np.uint16],
    firsts: Ints,
    marks: Ints,
    rules: Rules,
    units: NDArray[np.int32],
    hits: NDArray[np.int32],
    valences: NDArray[np.float64],
) -> int:
    """Put down the units of each text that has been read; how many are UNSURE comes back.

    ``hits`` and ``valences`` have room for the words of the longest text.
    """
    left = 0
    for text in range(units.size):
        if units[text] == 0:
            emphasis = _emphasis(marks[text, 0], marks[text, 1])
            units[text] = _units(words, firsts[text], firsts[text + 1] - GAP, emphasis, rules, hits, valences)
            left += units[text] == UNSURE
    return left
