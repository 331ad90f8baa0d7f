"""The account of a worker: the largest fold is parked first, and a dropped one is forgotten."""

from __future__ import annotations

from cauce.worker.memory.account import MemoryAccount


class Fold:
    parked = False

    def park(self) -> None:
        self.parked = True


def test_largest_is_parked_if_folds_hold_too_much_together() -> None:
    account, one, other = MemoryAccount(100), Fold(), Fold()
    account.set_held(one, 70)
    account.set_held(other, 40)
    assert (one.parked, other.parked) == (True, False)
    assert account.collected == 40
    assert account.parked == 1


def test_nothing_is_parked_without_a_limit() -> None:
    account, one = MemoryAccount(), Fold()
    account.set_held(one, 1 << 60)
    assert not one.parked


def test_a_dropped_fold_is_forgotten() -> None:
    account, one = MemoryAccount(100), Fold()
    account.set_held(one, 70)
    del one
    assert account.collected == 0


def test_broadcast_inputs_are_held_besides() -> None:
    account, one, table = MemoryAccount(100), Fold(), Fold()
    account.set_held(one, 70)
    account.set_broadcast(table, 500)
    assert not one.parked
    assert account.held == 570
