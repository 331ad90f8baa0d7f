"""Checks a history of appends to one stream and reads of it, in the manner of Jepsen's set and log tests. Pure
functions of what writers and readers recorded; no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Entry = tuple[int, int]
"""A record: the number of its writer, and its own number, which counts from 0."""


@dataclass(frozen=True)
class History:
    attempted: Mapping[int, int]
    """By writer, how many records it has tried to append."""
    confirmed: frozenset[Entry]
    """Records whose append returned. All other attempted ones may have been stored or not."""
    final: Sequence[Entry]
    """What a reader found that read everything after the faults were over."""
    others: Sequence[Sequence[Entry]] = ()
    """What other readers found, each from the start of the stream, while faults were injected."""


@dataclass(frozen=True)
class Verdict:
    confirmed: int
    unconfirmed: int
    stored: int
    """Unconfirmed records that were found nevertheless."""
    lost: int
    """Confirmed records that were not found."""
    duplicated: int
    """Records found more than once, counted for each further time. The fabric's contract allows them."""
    reordered: int
    """Confirmed records found before one that their writer had confirmed earlier."""
    phantom: int
    """Records that no writer has tried to append."""
    diverged: int
    """Readers that found another order than the final one."""

    @property
    def is_exact(self) -> bool:
        """Whether the stream kept what it must keep. Duplicates are allowed."""
        return not (self.lost or self.reordered or self.phantom or self.diverged)


def check(history: History) -> Verdict:
    found = Counter(history.final)
    return Verdict(
        confirmed=len(history.confirmed),
        unconfirmed=sum(history.attempted.values()) - len(history.confirmed),
        stored=sum(_is_attempted(history, each) and each not in history.confirmed for each in found),
        lost=len(history.confirmed - found.keys()),
        duplicated=found.total() - len(found),
        reordered=_reordered(each for each in dict.fromkeys(history.final) if each in history.confirmed),
        phantom=len({each for reads in (history.final, *history.others) for each in reads} - _all_attempted(history)),
        diverged=sum(list(reads) != list(history.final[: len(reads)]) for reads in history.others),
    )


def _is_attempted(history: History, entry: Entry) -> bool:
    writer, number = entry
    return 0 <= number < history.attempted.get(writer, 0)


def _all_attempted(history: History) -> set[Entry]:
    return {(writer, number) for writer, count in history.attempted.items() for number in range(count)}


def _reordered(entries: Iterable[Entry]) -> int:
    """How many are lower than the highest one of their writer so far."""
    highest: dict[int, int] = {}
    late = 0
    for writer, number in entries:
        late += number < highest.get(writer, -1)
        highest[writer] = max(number, highest.get(writer, -1))
    return late
