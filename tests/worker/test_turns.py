"""The order of turns within and across rounds."""

from __future__ import annotations

from dataclasses import dataclass

from cauce.worker.turns import Turns


@dataclass(eq=False)
class Task:
    name: str


def names(turns: Turns[Task], most: int = 100) -> list[str]:
    """The entries in the order of their turns, until the round is over; each turn costs the same."""
    found: list[str] = []
    while len(found) < most and (turn := turns.next()) is not None:
        turns.charge(turn[0], 1.0)
        found.append(turn[1].name)
    return found


def entries(owner: str, count: int) -> list[tuple[str, Task]]:
    return [(owner, Task(f"{owner}{number}")) for number in range(count)]


def test_an_owner_with_many_tasks_has_no_more_turns() -> None:
    turns: Turns[Task] = Turns()
    turns.refill([*entries("a", 50), *entries("b", 3)])
    assert names(turns, 6) == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_every_task_has_one_turn_in_a_round() -> None:
    turns: Turns[Task] = Turns()
    turns.refill([*entries("a", 3), *entries("b", 1)])
    assert sorted(names(turns)) == ["a0", "a1", "a2", "b0"]
    assert turns.next() is None


def test_tasks_that_had_no_turn_come_first_in_the_next_round() -> None:
    turns: Turns[Task] = Turns()
    tasks = entries("a", 4)
    turns.refill(tasks)
    assert names(turns, 2) == ["a0", "a1"]
    turns.refill(tasks)
    assert names(turns) == ["a2", "a3", "a0", "a1"]


def test_tasks_that_are_no_longer_held_have_no_turn() -> None:
    turns: Turns[Task] = Turns()
    tasks = entries("a", 4)
    turns.refill(tasks)
    turns.refill(tasks[2:])
    assert names(turns) == ["a2", "a3"]
