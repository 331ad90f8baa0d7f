"""Hands the plan of a job to a prefork server over its standard input: the length in eight bytes, then the bytes."""

from __future__ import annotations

import struct

AWAITS_PLAN = "plan"
"""The argument of a prefork server that starts its workers when it has the plan."""

READ_BYTES = 1 << 16
_HEAD = struct.Struct(">Q")


def framed(plan: bytes) -> bytes:
    return _HEAD.pack(len(plan)) + plan


class PlanInput:
    """Collects the bytes of a plan."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        self._data += data

    @property
    def plan(self) -> bytes | None:
        """None until it is complete."""
        if len(self._data) < _HEAD.size or len(self._data) < _HEAD.size + _HEAD.unpack_from(self._data)[0]:
            return None
        return bytes(self._data[_HEAD.size :])
