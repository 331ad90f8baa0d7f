"""Read positions. Only a fabric knows what the offsets of a position mean; all others compare and store positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Position:
    """Read position in a log: an offset for each source that the fabric keeps apart, such as a segment. A source that
    is not named is at offset 0."""

    offsets: Mapping[str, int] = field(default_factory=dict)
    """For fabrics only."""

    @property
    def is_start(self) -> bool:
        return not self.offsets

    def offset(self, source: str) -> int:
        return self.offsets.get(source, 0)

    def covers(self, other: Position) -> bool:
        """Whether a reader at this position has read everything that a reader at the other one has read."""
        return all(self.offset(source) >= offset for source, offset in other.offsets.items())

    def merge(self, other: Position) -> Position:
        """The position of a reader that has read what either of two readers has read."""
        return Position({key: max(self.offset(key), other.offset(key)) for key in {**self.offsets, **other.offsets}})

    def rewind(self, before: Position, after: Position) -> Position:
        """This position, but before the records that a read from `before` to `after` has returned."""
        moved = {key for key in {**before.offsets, **after.offsets} if before.offset(key) != after.offset(key)}
        return Position({**self.offsets, **{key: before.offset(key) for key in moved}})

    def encode(self) -> dict[str, int]:
        """For a journal or a snapshot. The encoding is part of their stored format."""
        return dict(self.offsets)

    @staticmethod
    def decode(stored: Mapping[str, int]) -> Position:
        return Position(stored)


START: Final = Position()
"""The start of every log."""
