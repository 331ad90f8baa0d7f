"""The kernel's count of kills for lack of memory: found where there is one, and compared within one scope alone."""

from __future__ import annotations

from cauce.process.memory_kills import memory_kills


def test_the_count_has_a_scope_that_stays_the_same() -> None:
    one, other = memory_kills(), memory_kills()
    assert one.scope == other.scope
    assert one.count <= other.count
