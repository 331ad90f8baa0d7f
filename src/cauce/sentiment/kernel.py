"""VADER's compound score of texts in a byte buffer: a vectorised tokeniser, then the rules on the few words they touch.

Every sum and product is made in the library's order, so that scores agree to the last bit; where that is in doubt,
a text is handed back as ``EMOJI`` or ``UNSURE``, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from cauce.scan.vector import (
    BYTES,
    Bytes,
    Ints,
    byte_at,
    compiled,
    either_mask,
    equal_mask,
    high_mask,
    next_bit,
    population,
)
from cauce.sentiment.lanes import after_last, below, lower_block, range_mask, word_at

SPARE_BYTES = 72
"""What may be read after the end of a text: a block of 64 bytes, begun up to two late, and some room."""

EMOJI, UNSURE = 10_001, 10_002
"""Stand for units: the text has emoji to expand first; only the library can tell."""

SPACE, UPPER, LOWER, PICTURE, ODD = 1, 2, 4, 8, 16
"""Classes of characters outside ASCII; ODD are those that have a small letter within it."""
CLASSED = 0x20000
"""Characters from here on have no class."""

BOOSTS, NEGATES, OPENS, FOLLOWS = 1, 2, 4, 8
"""What a word can do beside having a valence; the last two: be the first of a phrase, the second of one."""
LEXICAL = 256
"""Words with this number or a higher one are in the lexicon."""
UNKNOWN, CONTRACTION = 0, 1
"""The numbers of words that stand in no list; the second is for those with "n't" within."""
NO_WORD = 0x7FFF
"""Stands third in a phrase of two words: no word has this number, not even an unknown one."""
RULE_WORDS = ("but", "so", "this", "never", "without", "least", "at", "very", "or", "nor", "of")
BUT, SO, THIS, NEVER, WITHOUT, LEAST, AT, VERY, OR, NOR, OF = range(2, 2 + len(RULE_WORDS))
RULE_LEXICAL_WORDS = ("no", "kind", "doubt")
NO, KIND, DOUBT = range(LEXICAL, LEXICAL + len(RULE_LEXICAL_WORDS))

KEY_BYTES = 23
"""The longest word of the table: a key's last byte is the word's length, so that NUL bytes are no padding."""
BUCKETS, SLOTS = 4096, 16384
_BUCKET_SHIFT, _SLOT_SHIFT, _LENGTH_SHIFT = np.uint64(52), np.uint64(50), np.uint64(56)
_MIX_0, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
# For each length the bits of three words that belong to it; none where no word of the table is that long.
_KEPT = np.array(
    [(1 << 8 * min(max(n - 8 * k, 0), 8)) - 1 if n <= KEY_BYTES else 0 for n in range(65) for k in range(3)], np.uint64
)

_CAPITAL, _NUMBER = 0x8000, 0x7FFF
_BEFORE, _AFTER = 3, 2
_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)

_BOOST_OF_CAPITALS, _NEGATION = 0.733, -0.74
_TIE = 1e-7
"""How near to half a unit a score is left to the library: far more than sums in another order can differ."""

F = TypeVar("F", bound=Callable[..., Any])
Word = TypeVar("Word", np.uint64, NDArray[np.uint64])


class Vocabulary(NamedTuple):
    """What the kernel knows of characters and words; ``keys``, ``roles`` and ``weights`` go by a word's number."""

    classes: NDArray[np.uint8]
    turns: NDArray[np.uint16]
    slots: NDArray[np.uint16]
    keys: NDArray[np.uint64]
    roles: NDArray[np.uint8]
    weights: NDArray[np.float64]
    phrases: NDArray[np.uint16]
    phrase_values: NDArray[np.float64]
    special_phrases: int


class Scratch(NamedTuple):
    """Room for the words of one text, used again for each."""

    lowered: Bytes
    words: NDArray[np.uint16]
    hits: NDArray[np.int32]
    valences: NDArray[np.float64]


_VOCABULARY = types.NamedTuple(
    (
        types.uint8[::1],
        types.uint16[::1],
        types.uint16[::1],
        types.uint64[::1],
        types.uint8[::1],
        types.float64[::1],
        types.uint16[:, ::1],
        types.float64[::1],
        types.int64,
    ),
    Vocabulary,
)
_INTS = types.Array(types.int64, 1, "C", readonly=True)


def _part(function: F) -> F:
    """A piece of ``score``, compiled into it; only ``score`` has an entry in the cache."""
    part: F = njit(nogil=True, _nrt=False)(function)
    return part


def hashed(first: Word, second: Word, third: Word) -> Word:
    return first * _MIX_0 + second * _MIX_1 + third * _MIX_2


def bucket_of(key_hash: Word) -> Word:
    return key_hash >> _BUCKET_SHIFT


def slot_of(key_hash: Word, turn: Word) -> Word:
    """The one place where a word can be: each bucket has a multiplier of its own that parts its words."""
    return (key_hash * (turn * _MIX_1 + _MIX_0)) >> _SLOT_SHIFT


_hashed, _bucket_of, _slot_of = _part(hashed), _part(bucket_of), _part(slot_of)


@_part
def _number(lowered: Bytes, at: int, size: int, known: Vocabulary) -> int:
    """Which word of the table this is. It has no branches, since no processor foresees the words of a text."""
    first = word_at(lowered, at) & _KEPT[size * 3]
    second = word_at(lowered, at + 8) & _KEPT[size * 3 + 1]
    third = word_at(lowered, at + 16) & _KEPT[size * 3 + 2] | np.uint64(size) << _LENGTH_SHIFT
    mix = _hashed(first, second, third)
    number = known.slots[_slot_of(mix, np.uint64(known.turns[_bucket_of(mix)]))]
    key = np.uint64(number) * np.uint64(3)
    differs = known.keys[key] ^ first | known.keys[key + _ONE] ^ second | known.keys[key + _TWO] ^ third
    return number if differs == _ZERO else UNKNOWN


@_part
def _class_at(data: Bytes, at: int, classes: NDArray[np.uint8]) -> tuple[int, int]:
    """The class and the size in bytes of the character at ``at``, which is not ASCII."""
    lead = np.int64(byte_at(data, at))
    point = lead & 0x1F if lead < 0xE0 else lead & 0xF if lead < 0xF0 else lead & 7
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    for k in range(1, size):
        point = point << 6 | np.int64(byte_at(data, at + k)) & 0x3F
    return np.int64(classes[point]) if point < CLASSED else 0, size


@_part
def _widen(data: Bytes, at: int, high: int, classes: NDArray[np.uint8]) -> tuple[int, int, int, int, int]:
    """What the characters outside ASCII add to the masks of a window, all classes met, and where it must end."""
    spaces, upper, lower = _ZERO, _ZERO, _ZERO
    met = 0
    leads = high & ~range_mask(data, at, 0x80, 0xBF)
    while leads:
        bit = next_bit(leads, 0)
        leads &= leads - _ONE
        kind, size = _class_at(data, at + bit, classes)
        if bit + size > 64:
            return spaces, upper, lower, met, bit
        met |= kind
        character = below(bit + size) & ~below(bit)
        if kind & SPACE:
            spaces |= character
        if kind & UPPER:
            upper |= character
        if kind & LOWER:
            lower |= character
    return spaces, upper, lower, met, 64


@_part
def _read_long(data: Bytes, at: int, end: int, known: Vocabulary, lowered: Bytes) -> tuple[int, int, int]:
    """The word at ``at``, too long for a window: its number, the classes it meets (two for ASCII too), its end."""
    begin, head, tail, met = at, end, at, 0
    contracted = False
    while at < end:
        byte = byte_at(data, at)
        size = 1
        mark = False
        if byte >= 0x80:
            kind, size = _class_at(data, at, known.classes)
            if kind & SPACE:
                break
            met |= kind
        elif 9 <= byte <= 13 or 28 <= byte <= 32:
            break
        elif 65 <= byte <= 90:
            met |= UPPER
        elif 97 <= byte <= 122:
            met |= LOWER
        else:
            mark = 33 <= byte <= 47 or 58 <= byte <= 126
        if byte == 39 and begin < at < end - 1:
            contracted |= byte_at(data, at - 1) | 32 == 110 and byte_at(data, at + 1) | 32 == 116
        if not mark:
            head = min(head, at)
            tail = at + size
        at += size
    word = UNKNOWN
    # With two characters or fewer in it, the whole stays, and is too long for the table.
    if 2 < tail - head <= KEY_BYTES:
        lower_block(lowered, data, head)
        word = _number(lowered, 0, tail - head, known)
    return CONTRACTION if contracted and word == UNKNOWN else word, met, at


@_part
def _read(data: Bytes, at: int, end: int, known: Vocabulary, scratch: Scratch) -> int:
    """Number the words of a text and count them; -EMOJI or -UNSURE where that cannot be done.

    A window of 64 bytes begins where the last word of the one before ends, so that words are never in two pieces.
    """
    words, lowered = scratch.words, scratch.lowered
    count = _BEFORE
    while at < end:
        spaces = range_mask(data, at, 9, 13) | range_mask(data, at, 28, 32)
        upper = range_mask(data, at, 65, 90)
        lower = range_mask(data, at, 97, 122)
        marks = range_mask(data, at, 33, 126) & ~(upper | lower | range_mask(data, at, 48, 57))
        nots = either_mask(data, at, 78, 110) & equal_mask(data, at + 1, 39) & either_mask(data, at + 2, 84, 116)
        high = high_mask(data, at)
        if end - at < 64:
            spaces |= ~below(end - at)
            high &= below(end - at)
        if high:
            more_spaces, more_upper, more_lower, met, width = _widen(data, at, high, known.classes)
            if met & (PICTURE | ODD):
                return -EMOJI if met & PICTURE else -UNSURE
            spaces = (spaces | more_spaces) & below(width)
            upper |= more_upper
            lower |= more_lower
        # Beyond the end of this text another one may begin with what looks like the rest of "n't".
        nots &= ~(spaces >> _ONE | spaces >> _TWO)
        begins = ~spaces & (spaces << _ONE | _ONE)
        stops = spaces & ~(spaces << _ONE | _ONE)
        if stops == _ZERO:
            skipped = next_bit(begins, 0)
            at += skipped
            if skipped == 0:
                word, met, at = _read_long(data, at, end, known, lowered)
                if met & (PICTURE | ODD):
                    return -EMOJI if met & PICTURE else -UNSURE
                words[count] = word | (_CAPITAL if met & (UPPER | LOWER) == UPPER else 0)
                count += 1
            continue
        lower_block(lowered, data, at)
        stop = 0
        while stops:
            first = next_bit(begins, 0)
            stop = next_bit(stops, 0)
            begins &= begins - _ONE
            stops &= stops - _ONE
            token = below(stop) & ~below(first)
            core = token & ~marks
            head = next_bit(core, 0)
            tail = after_last(core)
            # VADER counts characters, but where bytes are more than characters no word of the table is met anyway.
            if tail - head <= 2:
                head = first
                tail = stop
            word = _number(lowered, head, tail - head, known)
            if word == UNKNOWN and nots & token:
                word = CONTRACTION
            shouted = upper & token != _ZERO and lower & token == _ZERO
            words[count] = word | (_CAPITAL if shouted else 0)
            count += 1
        at += stop
    return count - _BEFORE


@_part
def _phrase(known: Vocabulary, begin: int, end: int, first: int, second: int, third: int) -> float:
    """The value of the phrase of two or three words, among rows ``begin`` to ``end``; NaN if there is none."""
    for row in range(begin, end):
        phrase = known.phrases[row]
        if phrase[0] == first and phrase[1] == second and phrase[2] == third:
            return known.phrase_values[row]
    return math.nan


@_part
def _idioms(
    known: Vocabulary, valence: float, three: int, two: int, one: int, zero: int, next_: int, after: int
) -> float:
    special, end = known.special_phrases, known.phrase_values.size
    for value in (
        _phrase(known, 0, special, one, zero, NO_WORD),
        _phrase(known, 0, special, two, one, zero),
        _phrase(known, 0, special, two, one, NO_WORD),
        _phrase(known, 0, special, three, two, one),
        _phrase(known, 0, special, three, two, NO_WORD),
    ):
        if not math.isnan(value):
            valence = value
            break
    for value in (_phrase(known, 0, special, zero, next_, NO_WORD), _phrase(known, 0, special, zero, next_, after)):
        if not math.isnan(value):
            valence = value
    for value in (
        _phrase(known, special, end, three, two, one),
        _phrase(known, special, end, three, two, NO_WORD),
        _phrase(known, special, end, two, one, NO_WORD),
    ):
        if not math.isnan(value):
            valence += value
    return valence


@_part
def _boost(known: Vocabulary, word: int, valence: float, differs: bool, damped: float) -> float:
    number = word & _NUMBER
    scalar = 0.0
    if known.roles[number] & BOOSTS:
        scalar = known.weights[number]
        if valence < 0.0:
            scalar = -scalar
        if differs and word & _CAPITAL:
            scalar += _BOOST_OF_CAPITALS if valence > 0.0 else -_BOOST_OF_CAPITALS
        scalar *= damped
    return scalar


@_part
def _valence(known: Vocabulary, words: NDArray[np.uint16], at: int, differs: bool) -> float:
    """The valence of the lexicon's word at ``at``, after what the three words before it do to it."""
    roles = known.roles
    zero, one, two = words[at] & _NUMBER, words[at - 1] & _NUMBER, words[at - 2] & _NUMBER
    three, next_, after = words[at - 3] & _NUMBER, words[at + 1] & _NUMBER, words[at + 2] & _NUMBER
    before = at - _BEFORE
    if zero == KIND and next_ == OF:
        return 0.0
    valence = known.weights[zero]
    if zero == NO and next_ >= LEXICAL:
        valence = 0.0
    if one == NO or two == NO or (three == NO and (one == OR or one == NOR)):
        valence = known.weights[zero] * _NEGATION
    if differs and words[at] & _CAPITAL:
        valence += _BOOST_OF_CAPITALS if valence > 0.0 else -_BOOST_OF_CAPITALS
    if before > 0 and one < LEXICAL:
        valence += _boost(known, words[at - 1], valence, differs, 1.0)
        if roles[one] & NEGATES:
            valence *= _NEGATION
    if before > 1 and two < LEXICAL:
        valence += _boost(known, words[at - 2], valence, differs, 0.95)
        if two == NEVER and (one == SO or one == THIS):
            valence *= 1.25
        elif not (two == WITHOUT and one == DOUBT) and roles[two] & NEGATES:
            valence *= _NEGATION
    if before > 2 and three < LEXICAL:
        valence += _boost(known, words[at - 3], valence, differs, 0.9)
        if (three == NEVER and (two == SO or two == THIS)) or one == SO or one == THIS:
            valence *= 1.25
        elif not (three == WITHOUT and (two == DOUBT or one == DOUBT)) and roles[three] & NEGATES:
            valence *= _NEGATION
        opens = (roles[three] | roles[two] << 8 | roles[one] << 16 | roles[zero] << 24) & (OPENS * 0x01010101)
        follows = roles[two] | roles[one] << 8 | roles[zero] << 16 | roles[next_] << 24
        if opens & follows * OPENS // FOLLOWS:
            valence = _idioms(known, valence, three, two, one, zero, next_, after)
    if one == LEAST and (before == 1 or (two != AT and two != VERY)):
        valence *= _NEGATION
    return valence


@_part
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


@_part
def _occurrences(data: Bytes, at: int, end: int, byte: int) -> int:
    count = 0
    while at < end:
        count += population(equal_mask(data, at, byte) & below(min(end - at, 64)))
        at += 64
    return count


@_part
def _emphasis(exclamations: int, questions: int) -> float:
    emphasis = min(exclamations, 4) * 0.292
    if questions > 3:
        return emphasis + 0.96
    return emphasis + (questions * 0.18 if questions > 1 else 0.0)


@_part
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
    return np.int64(units) if _TIE < scaled - units < 1 - _TIE else UNSURE


@_part
def _units(data: Bytes, at: int, end: int, known: Vocabulary, scratch: Scratch) -> int:
    words, hits, valences = scratch.words, scratch.hits, scratch.valences
    count = _read(data, at, end, known, scratch)
    if count < 0:
        return -count
    found, capitals, but = 0, 0, -1
    for k in range(_BEFORE + count - 1, _BEFORE - 1, -1):
        capitals += words[k] >> 15
        if words[k] & _NUMBER == BUT:
            but = k
    for k in range(_BEFORE, _BEFORE + count):
        hits[found] = k
        found += words[k] & _NUMBER >= LEXICAL
    if found == 0:
        return 0
    words[_BEFORE + count] = words[_BEFORE + count + 1] = UNKNOWN
    kept = 0
    for k in range(found):
        valence = _valence(known, words, hits[k], 0 < capitals < count)
        # Neutral words change neither the sum nor the place of the first word with any other valence.
        if valence != 0.0:
            hits[kept] = hits[k]
            valences[kept] = valence
            kept += 1
    if but >= 0:
        _weigh_around(but, hits, valences, kept)
    emphasis = _emphasis(_occurrences(data, at, end, 33), _occurrences(data, at, end, 63))
    return _rounded(valences, kept, emphasis)


@compiled(types.int64(BYTES, _INTS, _INTS, _VOCABULARY, types.int32[::1]))
def score(data: Bytes, starts: Ints, ends: Ints, known: Vocabulary, units: NDArray[np.int32]) -> int:
    """Put down the units of each text, and say for how many it was EMOJI or UNSURE instead."""
    longest = 0
    for text in range(starts.size):
        longest = max(longest, ends[text] - starts[text])
    most = longest // 2 + 1
    lowered = np.empty(64 + KEY_BYTES + 1, np.uint8)
    words = np.zeros(_BEFORE + most + _AFTER, np.uint16)
    scratch = Scratch(lowered, words, np.empty(most + 1, np.int32), np.empty(most, np.float64))
    left = 0
    for text in range(starts.size):
        units[text] = _units(data, starts[text], ends[text], known, scratch)
        left += units[text] >= EMOJI
    return left
