"""VADER's rules on numbered words: how the neighbours of a lexicon word change its valence, and the score of a text.

Every sum and product has the library's order, so scores agree to the last bit. If a rounding could still go either
way, the text is returned as ``UNSURE``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cauce.scan.native import I8, Array, Struct, kernel, piece
from cauce.scan.native.simd import Bytes, Ints, word_at
from cauce.scan.sentiment.reading import CAPITAL, CONTRACTION, GAP, UNSURE

BOOSTS, NEGATES, OPENS, FOLLOWS = 1, 2, 4, 8
"""Roles of a word besides its valence; the last two: first word of a phrase, second word of a phrase."""
LEXICAL = 256
"""Words with at least this number are in the lexicon."""
RULE_WORDS = ("but", "so", "this", "never", "without", "least", "at", "very", "or", "nor", "of")
BUT, SO, THIS, NEVER, WITHOUT, LEAST, AT, VERY, OR, NOR, OF = range(CONTRACTION + 1, CONTRACTION + 1 + len(RULE_WORDS))
RULE_LEXICAL_WORDS = ("no", "kind", "doubt")
NO, KIND, DOUBT = range(LEXICAL, LEXICAL + len(RULE_LEXICAL_WORDS))
NO_WORD = 0x7FFF
"""The third word of a two-word phrase: no word has this number, not even an unknown one."""

_NUMBER = CAPITAL - 1
_BOOST_OF_CAPITALS, _NEGATION = 0.733, -0.74
_TIE = 1e-7
"""Scores this close to half a unit are left to the library: far more than the order of a sum can change."""


class Rules(NamedTuple):
    """By word number: the word's roles, and its valence or boost. Then the phrases, boosting ones last."""

    roles: NDArray[np.uint8]
    weights: NDArray[np.float64]
    phrases: NDArray[np.uint16]
    phrase_values: NDArray[np.float64]
    special_phrases: int


class Heaps(NamedTuple):
    """Buffers to find the first of equal valences in a long text: for each valence (``keys``, as bits) a skew heap of
    the words that have it, with its ``roots`` and their children. ``bits`` are the bytes of the valences themselves."""

    bits: Bytes
    keys: NDArray[np.uint64]
    roots: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]


FEW_WORDS = 64
"""Up to this many lexicon words, a linear search finds the first of equal valences."""
_FREE, _NONE = -2, -1
_MIX, _HIGH_BITS = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)

_RULES = Struct(Rules, (Array("uint8"), Array("float64"), Array("uint16", 2), Array("float64"), I8))
_HEAPS = Struct(Heaps, (Array("uint8"), Array("uint64"), Array("int32"), Array("int32"), Array("int32")))


def heaps_for(valences: NDArray[np.float64]) -> Heaps:
    """Buffers for a text with that many lexicon words; pages that are never written take no memory."""
    count = valences.size if valences.size > FEW_WORDS else 0
    room = 4
    while room < 4 * count:
        room *= 2
    children = np.empty((2, count), np.int32)
    return Heaps(valences.view(np.uint8), np.empty(room, np.uint64), np.empty(room, np.int32), *children)


@piece
def _phrase(rules: Rules, begin: int, end: int, first: int, second: int, third: int) -> float:
    """The value of a phrase of two or three words, among rows ``begin`` to ``end``; NaN if it is not there."""
    for row in range(begin, end):
        phrase = rules.phrases[row]
        if phrase[0] == first and phrase[1] == second and phrase[2] == third:
            return float(rules.phrase_values[row])
    return math.nan


@piece
def _joins(roles: NDArray[np.uint8], first: int, second: int) -> bool:
    """Whether a phrase may begin with these words; quickly rules out nearly all."""
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
    """The valence of a lexicon word, adjusted for the ``before`` words that precede it."""
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
    """Halves the valences before "but" and raises those after it, each time at the first word with an equal valence."""
    for k in range(count):
        first = 0
        while valences[first] != valences[k]:
            first += 1
        if places[first] < but:
            valences[first] *= 0.5
        elif places[first] > but:
            valences[first] *= 1.5


@piece
def _slot(heaps: Heaps, word: int, room: int) -> int:
    """The slot of the heap root for a word's valence; free if there is no such heap."""
    key = word_at(heaps.bits, 8 * word)
    slot = int((key * _MIX) >> _HIGH_BITS) & (room - 1)
    while heaps.roots[slot] != _FREE and heaps.keys[slot] != key:
        slot = (slot + 1) & (room - 1)
    heaps.keys[slot] = key
    return slot


@piece
def _meld(heaps: Heaps, one: int, other: int) -> int:
    """Melds two heaps: the root is the first of all words."""
    if one == _NONE or other == _NONE:
        return max(one, other)
    root, rest = min(one, other), max(one, other)
    at = root
    while True:
        below = heaps.right[at]
        heaps.right[at] = heaps.left[at]
        if below == _NONE:
            heaps.left[at] = rest
            return root
        at, rest, above = min(below, rest), max(below, rest), at
        heaps.left[above] = at


@piece
def _add(heaps: Heaps, word: int, room: int) -> None:
    heaps.left[word] = _NONE
    heaps.right[word] = _NONE
    slot = _slot(heaps, word, room)
    heaps.roots[slot] = _meld(heaps, max(heaps.roots[slot], _NONE), word)


@piece
def _weigh_around_many(
    but: int, places: NDArray[np.int32], valences: NDArray[np.float64], count: int, heaps: Heaps
) -> None:
    """As ``_weigh_around``, in nearly linear time."""
    # Every word adds one valence, and another when it changes: at most half of the slots are used.
    room = 4
    while room < 4 * count:
        room *= 2
    for slot in range(room):
        heaps.roots[slot] = _FREE
    # From last to first, so that each word becomes the root at once.
    for k in range(count - 1, -1, -1):
        _add(heaps, k, room)
    for k in range(count):
        slot = _slot(heaps, k, room)
        first = heaps.roots[slot]
        heaps.roots[slot] = _meld(heaps, heaps.left[first], heaps.right[first])
        valences[first] *= 0.5 if places[first] < but else 1.5
        _add(heaps, first, room)


@piece
def _emphasis(exclamations: int, questions: int) -> float:
    emphasis = min(exclamations, 4) * 0.292
    if questions > 3:
        return emphasis + 0.96
    return emphasis + (questions * 0.18 if questions > 1 else 0.0)


@piece
def _rounded(valences: NDArray[np.float64], count: int, emphasis: float) -> int:
    """The units of a sum; UNSURE if Python's two summation methods (compensated from 3.12 on) might differ."""
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
    heaps: Heaps,
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
        # Neutral words change neither the sum nor which word is the first with any other valence.
        if valence != 0.0:
            hits[kept] = k
            valences[kept] = valence
            kept += 1
    if but >= 0 and kept <= FEW_WORDS:
        _weigh_around(but, hits, valences, kept)
    elif but >= 0:
        _weigh_around_many(but, hits, valences, kept, heaps)
    return _rounded(valences, kept, emphasis) if kept else 0


@kernel(
    I8,
    Array("uint16"),
    Array("int64"),
    Array("int64", 2),
    _RULES,
    Array("int32"),
    Array("int32"),
    Array("float64"),
    _HEAPS,
)
def weigh(
    words: NDArray[np.uint16],
    firsts: Ints,
    marks: Ints,
    rules: Rules,
    units: NDArray[np.int32],
    hits: NDArray[np.int32],
    valences: NDArray[np.float64],
    heaps: Heaps,
) -> int:
    """Writes the units of each text that has been read; returns the number of UNSURE ones.

    ``hits``, ``valences`` and ``heaps`` have room for the words of the longest text. Afterwards ``valences`` holds the
    summands of the last text.
    """
    left = 0
    for text in range(units.size):
        if units[text] == 0:
            emphasis = _emphasis(marks[text, 0], marks[text, 1])
            units[text] = _units(words, firsts[text], firsts[text + 1] - GAP, emphasis, rules, hits, valences, heaps)
            left += units[text] == UNSURE
    return left
