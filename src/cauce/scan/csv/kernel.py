"""The compiled core of the CSV scanner: one state machine that splits bytes into records and cells.

It copies no cell. It reads up to 64 bytes past the given length: every buffer must have that many spare bytes.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from cauce.scan.native import BOOL, I8, U1, VOID, Array, kernel
from cauce.scan.native.simd import (
    BYTES,
    Bytes,
    Ints,
    below,
    byte_at,
    either_mask,
    equal_mask,
    next_bit,
    population,
)

QUOTED_LIMIT = 16 * 2**20
"""Maximum bytes between an opening and its closing quote; if exceeded, the opening quote is a fault."""

BROKEN = -1
"""In place of the number of cells: the record's quoting is broken."""

DONE, MORE, FULL = 0, 1, 2
"""Why ``scan`` returned: target or end reached; the bytes end within a record; no room for another row."""

POSITION, DOOMED, ROWS, FAULTS, STATUS = range(5)
"""Indexes of ``scan``'s state, which it reads at the start and writes on return."""

LINES = 1
"""The second index of ``skim``'s state."""

_LF, _CR = 10, 13
_BLOCK = ~63
_OPEN, _ENDED, _FAULTY, _CUT_OFF = 0, 1, 2, 3

_NONE, _ONE = (cast(int, np.uint64(n)) for n in range(2))
_INTS = Array("int64")


@kernel(I8, BYTES, I8, I8, U1)
def find(buffer: Bytes, begin: int, end: int, byte: int) -> int:
    """The offset of the first ``byte`` in [begin, end), or ``end``."""
    block = begin & _BLOCK
    bit = begin & 63
    while block < end:
        bit = next_bit(equal_mask(buffer, block, byte), bit)
        if bit < 64:
            return min(block + bit, end)
        block += 64
        bit = 0
    return end


@kernel(I8, BYTES, I8, I8)
def count_lines(buffer: Bytes, begin: int, end: int) -> int:
    """The number of LF in [begin, end)."""
    lines = 0
    at = begin
    while at + 64 <= end:
        lines += population(equal_mask(buffer, at, _LF))
        at += 64
    while at < end:
        lines += byte_at(buffer, at) == _LF
        at += 1
    return lines


@kernel(VOID, BYTES, Array("int64", read=True), I8, _INTS)
def number_lines(buffer: Bytes, offsets: Ints, first_line: int, lines: Ints) -> None:
    """The physical line of each of the ascending ``offsets``, in one pass up to the last one."""
    at = 0
    line = first_line
    for i in range(offsets.size):
        line += count_lines(buffer, at, offsets[i])
        at = offsets[i]
        lines[i] = line


@kernel(VOID, BYTES, I8, I8, U1, U1, I8, _INTS)
def skim(buffer: Bytes, length: int, target: int, delimiter: int, quote: int, limit: int, state: Ints) -> None:
    """Skips good records from the record start ``state[POSITION]`` until one begins at or after ``target``.

    It tracks no cells, only quotes and line ends. It stops before a record that is incomplete or not clearly good,
    which ``scan`` must read. ``state[LINES]`` grows by the number of LF skipped.
    """
    position = state[POSITION]
    lines = state[LINES]
    block = position & _BLOCK
    gone = below(position & 63)
    quotes = equal_mask(buffer, block, quote) & ~gone
    feeds = equal_mask(buffer, block, _LF) & ~gone
    within = 0
    done = position >= target
    while not done:
        while quotes | feeds == _NONE:
            block += 64
            if block >= length:
                break
            quotes = equal_mask(buffer, block, quote)
            feeds = equal_mask(buffer, block, _LF)
        bit = next_bit(quotes | feeds, 0)
        here = block + bit
        if here >= length:
            break
        if next_bit(feeds, 0) == bit:
            feeds &= feeds - _ONE
            position = here + 1
            lines += within + 1
            within = 0
            done = position >= target
            continue
        quotes &= quotes - _ONE
        if here > position and byte_at(buffer, here - 1) != delimiter:
            # In a cell that did not begin with a quote, a quote is an ordinary character.
            continue
        closed = False
        while True:
            while quotes == _NONE:
                within += population(feeds)
                block += 64
                if block >= length:
                    break
                quotes = equal_mask(buffer, block, quote)
                feeds = equal_mask(buffer, block, _LF)
            bit = next_bit(quotes, 0)
            end = block + bit
            if end + 1 >= length:
                break
            quotes &= quotes - _ONE
            within += population(feeds & below(bit))
            feeds &= ~below(bit)
            after = byte_at(buffer, end + 1)
            if after == quote:
                if bit == 63:
                    block += 64
                    quotes = equal_mask(buffer, block, quote)
                    feeds = equal_mask(buffer, block, _LF)
                quotes &= quotes - _ONE
                continue
            if after == _CR and end + 2 < length:
                after = byte_at(buffer, end + 2)
                closed = after == _LF
            else:
                closed = after == delimiter
                closed |= after == _LF
            closed &= end - here <= limit + 1
            break
        if not closed:
            break
    state[POSITION] = position
    state[LINES] = lines


# Resuming at the line after a fault could take quadratic time: in a file of lines `a","b` each line opens a record
# that runs to the end of the file and fails there. `doomed` bounds this. Let F be a parse that failed at X, and A a
# parse that begins at a line start which F crossed. There F is inside quotes and A is not. A run of quotes either
# toggles both or neither, so exactly one is inside quotes, until a run is plain text for the outer one and closes the
# cell of the other: then both are outside, and identical from the next delimiter on. F is inside quotes at every LF
# before X (otherwise its record would have ended there). So if A is inside quotes at such an LF, A has become F,
# including the opening quote, and will also fail at X. Hence `doomed`, the farthest X so far: before it, a quoted cell
# that crosses the end of its line is a fault at once, and no byte is read more than three times.
@kernel(
    VOID, BYTES, I8, BOOL, I8, U1, U1, I8, BOOL, _INTS,
    _INTS, Array("int64", 2), Array("int32", 2), Array("uint8", 2), _INTS, _INTS, _INTS,
)  # fmt: skip
def scan(
    buffer: Bytes,
    length: int,
    final: bool,
    target: int,
    delimiter: int,
    quote: int,
    limit: int,
    keep: bool,
    slots: Ints,
    record_start: Ints,
    cell_start: Ints,
    cell_length: NDArray[np.int32],
    cell_escaped: NDArray[np.uint8],
    fault_offset: Ints,
    fault_cells: Ints,
    state: Ints,
) -> None:
    """Reads records from ``state[POSITION]`` until one ends at or after ``target``.

    Unless ``final``, more bytes may follow ``length``: a record that they could change is not read. With ``keep``,
    cell ``i`` of each good record is stored in row ``slots[i]`` of the cell arrays (-1: not stored); ``slots`` has
    an entry for each cell of the header. Without ``keep`` only the position advances.
    """
    position = state[POSITION]
    doomed = state[DOOMED]
    rows = state[ROWS]
    faults = state[FAULTS]
    status = DONE
    width = slots.size
    block = -64
    separators = quotes = equal_mask(buffer, 0, _LF)
    while position < length and position < target:
        if keep and (rows == record_start.size or faults == fault_offset.size):
            status = FULL
            break
        first = byte_at(buffer, position)
        if first == _LF:
            position += 1
            continue
        if first == _CR:
            if position + 1 < length:
                if byte_at(buffer, position + 1) == _LF:
                    position += 2
                    continue
            elif not final:
                status = MORE
                break
        at = position
        line_end = length
        if position < doomed:
            line_end = find(buffer, position, min(doomed, length), _LF)
            if line_end >= doomed:
                line_end = length
        cells = 0
        failed_at = 0
        outcome = _OPEN
        while outcome == _OPEN:
            escaped = False
            if at < length and byte_at(buffer, at) == quote:
                begin = at + 1
                # The closing quote must be before `stop`.
                stop = min(length, begin + limit + 1, line_end)
                at = begin
                while True:
                    if at & _BLOCK != block:
                        block = at & _BLOCK
                        quotes = equal_mask(buffer, block, quote)
                        separators = either_mask(buffer, block, delimiter, _LF)
                    bit = next_bit(quotes, at & 63)
                    if bit > 63:
                        block += 64
                        while block < stop:
                            quotes = equal_mask(buffer, block, quote)
                            bit = next_bit(quotes, 0)
                            if bit < 64:
                                separators = either_mask(buffer, block, delimiter, _LF)
                                break
                            block += 64
                    end = block + bit
                    if end >= stop:
                        # The masks may belong to an earlier block.
                        block = -64
                        outcome = _FAULTY if final or stop < length else _CUT_OFF
                        failed_at = stop
                        break
                    at = end + 1
                    if at >= length or byte_at(buffer, at) != quote:
                        break
                    escaped = True
                    at += 1
                if outcome != _OPEN:
                    break
                if at >= length:
                    outcome = _ENDED if final else _CUT_OFF
                else:
                    after = byte_at(buffer, at)
                    if after == _CR:
                        if at + 1 < length:
                            at += 1
                            after = byte_at(buffer, at)
                            # A delimiter after the CR must not count as one after the quote.
                            outcome = _ENDED if after == _LF else _FAULTY
                        else:
                            outcome = _FAULTY if final else _CUT_OFF
                    elif after == _LF:
                        outcome = _ENDED
                    elif after != delimiter:
                        outcome = _FAULTY
                    failed_at = end
                    at += 1
            else:
                begin = at
                if at & _BLOCK != block:
                    block = at & _BLOCK
                    quotes = equal_mask(buffer, block, quote)
                    separators = either_mask(buffer, block, delimiter, _LF)
                bit = next_bit(separators, at & 63)
                while bit > 63:
                    block += 64
                    if block >= length:
                        bit = 0
                        break
                    quotes = equal_mask(buffer, block, quote)
                    separators = either_mask(buffer, block, delimiter, _LF)
                    bit = next_bit(separators, 0)
                end = block + bit
                at = end + 1
                if end >= length:
                    end = length
                    at = length
                    outcome = _ENDED if final else _CUT_OFF
                elif byte_at(buffer, end) == _LF:
                    outcome = _ENDED
                    if end > begin and byte_at(buffer, end - 1) == _CR:
                        end -= 1
            if keep and cells < width and slots[cells] >= 0:
                slot = slots[cells]
                cell_start[slot, rows] = begin
                cell_length[slot, rows] = end - begin
                cell_escaped[slot, rows] = escaped
            cells += 1
        if outcome == _FAULTY:
            doomed = max(doomed, failed_at)
            at = find(buffer, position, length, _LF) + 1
            if at > length:
                at = length
                if not final:
                    outcome = _CUT_OFF
        if outcome == _CUT_OFF:
            status = MORE
            break
        if keep:
            if outcome == _FAULTY:
                fault_offset[faults] = position
                fault_cells[faults] = BROKEN
                faults += 1
            elif cells != width:
                fault_offset[faults] = position
                fault_cells[faults] = cells
                faults += 1
            else:
                record_start[rows] = position
                rows += 1
        position = at
    state[POSITION] = position
    state[DOOMED] = doomed
    state[ROWS] = rows
    state[FAULTS] = faults
    state[STATUS] = status
