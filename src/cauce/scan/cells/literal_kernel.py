"""One pass over Python list literals: strings of a list, or one field of a list of dicts.

It accepts only fully validated cells and writes only valid UTF-8. A cell that it cannot decide is ``ODD``, for the
slow path; it is ``BAD`` only if no further bytes could make it valid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cauce.scan.cells.cell_kernel import (
    BAD,
    BYTES,
    LENGTHS,
    NULL,
    ODD,
    PARSED,
    STARTS,
    STATES,
    Bytes,
    Integers,
    Lengths,
    Starts,
    States,
)
from cauce.scan.native import VOID, Array, kernel, piece

MAX_DEPTH = 32
_MAX_NUMBER_BYTES = 64  # far below the digits at which Python itself refuses an integer

_SINGLE, _DOUBLE, _BACKSLASH, _COMMA, _POINT, _COLON = (ord(c) for c in "'\"\\,.:")
_OPEN_LIST, _CLOSE_LIST, _OPEN_DICT, _CLOSE_DICT, _OPEN_TUPLE, _CLOSE_TUPLE = (ord(c) for c in "[]{}()")
_SPACE, _TAB, _NEWLINE = (ord(c) for c in " \t\n")
_ZERO, _NINE, _PLUS, _MINUS, _LOWER_E, _UPPER_E = (ord(c) for c in "09+-eE")
_OCTAL_END = _ZERO + 8
_LOWER_X, _LOWER_U, _UPPER_U, _UPPER_N = (ord(c) for c in "xuUN")
_NOWHERE = np.int64(-1)
_INPUT = (BYTES, STARTS, LENGTHS)
_OUT = (Array("uint8"), Array("int64"), Array("int64"), STATES)


def _flags(chars: bytes) -> Bytes:
    table = np.zeros(256, np.uint8)
    table[list(chars)] = 1
    return table


# Literal bytes of a string. NUL and line ends are errors there, or have another meaning.
_PLAIN = 1 - _flags(b"'\"\\\0\n\r" + bytes(range(128, 256)))
# A list may also follow these: blanks, brackets, a comment, a line continuation, a byte order mark.
_MAY_PRECEDE_LIST = _flags(b" \t\n\r\f(\\#" + bytes(range(128, 256)))
# First bytes of an element that can never be a string; all others may be a string prefix or precede a string.
_NEVER_TEXT = _flags(b"0123456789+-.[{NT")
_SIMPLE_ESCAPES = np.zeros(256, np.uint8)
for _letter, _meaning in zip(b"\\'\"abfnrtv", b"\\'\"\a\b\f\n\r\t\v", strict=True):
    _SIMPLE_ESCAPES[_letter] = _meaning
_NONE, _TRUE, _FALSE = (np.frombuffer(word, np.uint8).copy() for word in (b"None", b"True", b"False"))


@piece
def _blanks(buf: Any, p: Any, end: Any) -> Any:
    while p < end and (buf[p] == _SPACE or buf[p] == _NEWLINE or buf[p] == _TAB):
        p += 1
    return p


@piece
def _is_quote(c: Any) -> Any:
    return c in (_SINGLE, _DOUBLE)


@piece
def _utf8_bytes(buf: Any, p: Any, end: Any) -> Any:
    """The length of the valid sequence whose lead byte is at ``p``; 0 if a strict decoder would reject it."""
    lead = buf[p]
    low, high = 0x80, 0xBF
    if 0xC2 <= lead <= 0xDF:
        more = 1
    elif 0xE0 <= lead <= 0xEF:
        more = 2
        if lead == 0xE0:
            low = 0xA0
        elif lead == 0xED:
            high = 0x9F
    elif 0xF0 <= lead <= 0xF4:
        more = 3
        if lead == 0xF0:
            low = 0x90
        elif lead == 0xF4:
            high = 0x8F
    else:
        return 0
    if p + more >= end or not low <= buf[p + 1] <= high:
        return 0
    for i in range(2, more + 1):
        if not 0x80 <= buf[p + i] <= 0xBF:
            return 0
    return more + 1


@piece
def _escape(buf: Any, p: Any, end: Any) -> Any:
    """Code point and end of the escape whose backslash is at ``p``; -1 and the next byte if it is unknown and thus
    literal; ``_NOWHERE`` as the end if it is an error or not supported here."""
    if p + 1 >= end:
        return -1, _NOWHERE
    c = buf[p + 1]
    if _SIMPLE_ESCAPES[c]:
        return np.int64(_SIMPLE_ESCAPES[c]), p + 2
    p += 2
    code = np.int64(0)
    if _ZERO <= c < _OCTAL_END:
        last = min(end, p + 2)
        code = np.int64(c) - _ZERO
        while p < last and _ZERO <= buf[p] < _OCTAL_END:
            code = code * 8 + np.int64(buf[p]) - _ZERO
            p += 1
        return code, p
    if c == _LOWER_X:
        last = p + 2
    elif c == _LOWER_U:
        last = p + 4
    elif c == _UPPER_U:
        last = p + 8
    elif c == _UPPER_N or c < _SPACE:
        return -1, _NOWHERE
    else:
        return -1, p - 1
    if last > end:
        return -1, _NOWHERE
    while p < last:
        digit = np.int64(buf[p])
        if _ZERO <= digit <= _NINE:
            digit -= _ZERO
        elif 0x41 <= digit <= 0x46:
            digit -= 0x41 - 10
        elif 0x61 <= digit <= 0x66:
            digit -= 0x61 - 10
        else:
            return -1, _NOWHERE
        code = code * 16 + digit
        p += 1
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return -1, _NOWHERE
    return code, p


@piece
def _put(code: Any, out: Any, o: Any) -> Any:
    """Writes a code point as UTF-8, which is never longer than its escape."""
    if code < 0x80:
        out[o] = code
        return o + 1
    if code < 0x800:
        out[o] = 0xC0 | (code >> 6)
    else:
        if code < 0x10000:
            out[o] = 0xE0 | (code >> 12)
        else:
            out[o] = 0xF0 | (code >> 18)
            o += 1
            out[o] = 0x80 | ((code >> 12) & 0x3F)
        o += 1
        out[o] = 0x80 | ((code >> 6) & 0x3F)
    out[o + 1] = 0x80 | (code & 0x3F)
    return o + 2


@piece
def _copy_string(buf: Any, p: Any, end: Any, out: Any, o: Any) -> Any:
    """Writes the value of the string at ``p`` to ``out``; returns its end (or ``_NOWHERE``) and the end of ``out``."""
    quote = buf[p]
    p += 1
    while p < end:
        c = buf[p]
        if _PLAIN[c]:
            out[o] = c
            o += 1
            p += 1
        elif c == quote:
            return p + 1, o
        elif _is_quote(c):
            out[o] = c
            o += 1
            p += 1
        elif c == _BACKSLASH:
            code, p = _escape(buf, p, end)
            if p == _NOWHERE:
                return _NOWHERE, o
            o = _put(code if code >= 0 else np.int64(_BACKSLASH), out, o)
        elif c >= 0x80:
            count = _utf8_bytes(buf, p, end)
            if count == 0:
                return _NOWHERE, o
            for _ in range(count):
                out[o] = buf[p]
                o += 1
                p += 1
        else:
            return _NOWHERE, o
    return _NOWHERE, o


@piece
def _skip_string(buf: Any, p: Any, end: Any) -> Any:
    """The end of the string at ``p`` (or ``_NOWHERE``), and whether it contains an escape."""
    quote = buf[p]
    p += 1
    escaped = False
    while p < end:
        c = buf[p]
        if _PLAIN[c]:
            p += 1
        elif c == quote:
            return p + 1, escaped
        elif _is_quote(c):
            p += 1
        elif c == _BACKSLASH:
            escaped = True
            _, p = _escape(buf, p, end)
            if p == _NOWHERE:
                return _NOWHERE, escaped
        elif c >= 0x80:
            count = _utf8_bytes(buf, p, end)
            if count == 0:
                return _NOWHERE, escaped
            p += count
        else:
            return _NOWHERE, escaped
    return _NOWHERE, escaped


@piece
def _equals(buf: Any, p: Any, end: Any, word: Any) -> Any:
    if end - p != len(word):
        return False
    for i in range(len(word)):  # noqa: SIM110 - Numba compiles no generators here
        if buf[p + i] != word[i]:
            return False
    return True


@piece
def _skip_digits(buf: Any, p: Any, end: Any) -> Any:
    while p < end and _ZERO <= buf[p] <= _NINE:
        p += 1
    return p


@piece
def _skip_plain(buf: Any, p: Any, end: Any) -> Any:
    """The end of the word or number at ``p``, or ``_NOWHERE``. The caller checks the byte after it."""
    for word in (_NONE, _TRUE, _FALSE):
        if buf[p] == word[0]:
            last = p + len(word)
            return last if last <= end and _equals(buf, p, last, word) else _NOWHERE
    end = min(end, p + _MAX_NUMBER_BYTES)
    if buf[p] == _PLUS or buf[p] == _MINUS:
        p += 1
    whole = _skip_digits(buf, p, end)
    if whole - p > 1 and buf[p] == _ZERO:
        return _NOWHERE
    digits = whole - p
    p = whole
    if p < end and buf[p] == _POINT:
        p = _skip_digits(buf, whole + 1, end)
        digits += p - whole - 1
    if digits == 0:
        return _NOWHERE
    if p < end and (buf[p] == _LOWER_E or buf[p] == _UPPER_E):
        p += 1
        if p < end and (buf[p] == _PLUS or buf[p] == _MINUS):
            p += 1
        first = p
        p = _skip_digits(buf, p, end)
        if p == first:
            return _NOWHERE
    return p


@piece
def _skip_key(buf: Any, p: Any, end: Any) -> Any:
    """The start of the value whose key (a string) is at ``p``, or ``_NOWHERE``."""
    if p >= end or not _is_quote(buf[p]):
        return _NOWHERE
    p, _ = _skip_string(buf, p, end)
    if p == _NOWHERE:
        return _NOWHERE
    p = _blanks(buf, p, end)
    if p >= end or buf[p] != _COLON:
        return _NOWHERE
    return _blanks(buf, p + 1, end)


@piece
def _skip_value(buf: Any, p: Any, end: Any, closers: Any) -> Any:
    """The end of the literal at ``p``, or ``_NOWHERE``. ``closers`` is the stack of open brackets."""
    depth = 0
    while p < end:
        c = buf[p]
        closer = 0
        if _is_quote(c):
            p, _ = _skip_string(buf, p, end)
        elif c == _OPEN_LIST:
            closer = _CLOSE_LIST
        elif c == _OPEN_DICT:
            closer = _CLOSE_DICT
        elif c == _OPEN_TUPLE:
            closer = _CLOSE_TUPLE
        else:
            p = _skip_plain(buf, p, end)
        if p == _NOWHERE:
            return _NOWHERE
        if closer:
            if depth == len(closers):
                return _NOWHERE
            closers[depth] = closer
            depth += 1
            p = _blanks(buf, p + 1, end)
            if p >= end:
                return _NOWHERE
            if buf[p] != closer:
                if closer == _CLOSE_DICT:
                    p = _skip_key(buf, p, end)
                    if p == _NOWHERE:
                        return _NOWHERE
                continue
        # A value has ended (or its container is about to): close brackets, then read the next value or return.
        goes_on = False
        while depth > 0 and not goes_on:
            p = _blanks(buf, p, end)
            if p >= end:
                return _NOWHERE
            closer = closers[depth - 1]
            if buf[p] == closer:
                p += 1
                depth -= 1
                continue
            if buf[p] != _COMMA:
                return _NOWHERE
            p = _blanks(buf, p + 1, end)
            if p >= end:
                return _NOWHERE
            if buf[p] != closer:
                goes_on = True
                if closer == _CLOSE_DICT:
                    p = _skip_key(buf, p, end)
                    if p == _NOWHERE:
                        return _NOWHERE
        if not goes_on:
            return p
    return _NOWHERE


@piece
def _after(buf: Any, p: Any, end: Any, closer: Any) -> Any:
    """The start of the next item, or of the closer, after an item that ended at ``p``; or ``_NOWHERE``."""
    p = _blanks(buf, p, end)
    if p >= end:
        return _NOWHERE
    if buf[p] == closer:
        return p
    return _blanks(buf, p + 1, end) if buf[p] == _COMMA else _NOWHERE


@piece
def _read_texts(buf: Any, p: Any, end: Any, out: Any, o: Any, ends: Any, count: Any) -> Any:
    """State of the cell, end of ``out``, number of ``ends``."""
    if buf[p] != _OPEN_LIST:
        return (ODD if _MAY_PRECEDE_LIST[buf[p]] else BAD), o, count
    p = _blanks(buf, p + 1, end)
    while p != _NOWHERE and p < end:
        c = buf[p]
        if c == _CLOSE_LIST:
            return (PARSED if p + 1 == end else ODD), o, count
        if not _is_quote(c):
            return (BAD if _NEVER_TEXT[c] else ODD), o, count
        p, o = _copy_string(buf, p, end, out, o)
        if p == _NOWHERE:
            break
        ends[count] = o
        count += 1
        p = _after(buf, p, end, _CLOSE_LIST)
    return ODD, o, count


@piece
def _read_entry(buf: Any, p: Any, end: Any, field: Any, out: Any, o: Any, closers: Any) -> Any:
    """End of the dict opened at ``p`` (or ``_NOWHERE``), end of ``out``, and whether the field is a text."""
    found = False
    begin = o
    p = _blanks(buf, p + 1, end)
    while p != _NOWHERE and p < end:
        if buf[p] == _CLOSE_DICT:
            return p + 1, o, found
        if not _is_quote(buf[p]):
            break
        key = p + 1
        p, escaped = _skip_string(buf, p, end)
        if p == _NOWHERE or escaped:
            break
        wanted = _equals(buf, key, p - 1, field)
        p = _blanks(buf, p, end)
        if p >= end or buf[p] != _COLON:
            break
        p = _blanks(buf, p + 1, end)
        if p >= end:
            break
        if wanted:
            # Duplicate key: the last one counts.
            o = begin
            found = _is_quote(buf[p])
        if wanted and found:
            p, o = _copy_string(buf, p, end, out, o)
        elif wanted and buf[p] == _OPEN_TUPLE:
            break
        else:
            p = _skip_value(buf, p, end, closers)
        if p == _NOWHERE:
            break
        p = _after(buf, p, end, _CLOSE_DICT)
    return _NOWHERE, o, found


@piece
def _read_fields(buf: Any, p: Any, end: Any, field: Any, closers: Any, out: Any, o: Any, ends: Any, count: Any) -> Any:
    """State of the cell, end of ``out``, number of ``ends``."""
    if buf[p] != _OPEN_LIST:
        return (ODD if _MAY_PRECEDE_LIST[buf[p]] else BAD), o, count
    p = _blanks(buf, p + 1, end)
    while p != _NOWHERE and p < end:
        c = buf[p]
        if c == _CLOSE_LIST:
            return (PARSED if p + 1 == end else ODD), o, count
        if c != _OPEN_DICT:
            return (ODD if _MAY_PRECEDE_LIST[c] else BAD), o, count
        p, o, found = _read_entry(buf, p, end, field, out, o, closers)
        if p == _NOWHERE:
            break
        p = _after(buf, p, end, _CLOSE_LIST)
        if p == _NOWHERE:
            break
        if not found:
            return BAD, o, count
        ends[count] = o
        count += 1
    return ODD, o, count


@kernel(VOID, *_INPUT, *_OUT)
def text_lists(
    buf: Bytes,
    start: Starts,
    length: Lengths,
    out: Bytes,
    ends: Integers,
    counts: Integers,
    state: States,
) -> None:
    """Concatenated elements of each list: their bytes, the end of each, and the cumulative count per cell."""
    o, count = np.int64(0), np.int64(0)
    for i in range(len(start)):
        state[i] = NULL
        if length[i] != 0:
            end = start[i] + length[i]
            state[i], to, more = _read_texts(buf, start[i], end, out, o, ends, count)
            if state[i] == PARSED:
                o, count = to, more
        counts[i] = count


@kernel(VOID, *_INPUT, BYTES, Array("uint8"), *_OUT)
def field_lists(
    buf: Bytes,
    start: Starts,
    length: Lengths,
    field: Bytes,
    closers: Bytes,
    out: Bytes,
    ends: Integers,
    counts: Integers,
    state: States,
) -> None:
    """As ``text_lists``, with the text under ``field`` of each entry; ``closers`` is a stack for open brackets."""
    o, count = np.int64(0), np.int64(0)
    for i in range(len(start)):
        state[i] = NULL
        if length[i] != 0:
            end = start[i] + length[i]
            state[i], to, more = _read_fields(buf, start[i], end, field, closers, out, o, ends, count)
            if state[i] == PARSED:
                o, count = to, more
        counts[i] = count
