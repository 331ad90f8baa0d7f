"""The rules for threads, forks and errors that the contract states."""

from __future__ import annotations

import threading

import pytest

from cauce.errors import CorruptRecord, FabricError, FabricFull, FabricLost, JobGone, OtherVersion
from cauce.fabric.contract import Fabric
from cauce.fabric.names import Log
from tests.conformance.worlds import World, data, drain, names, took
from tests.fabric.children import append_before_and_after_fork, end_leases_in_a_fork, take_with_retry


def test_threads_with_a_fabric_each_lose_nothing(one: Fabric, world: World) -> None:
    fabrics = [world.process() for _ in range(4)]

    def append(producer: int) -> None:
        for seq in range(20):
            fabrics[producer].append("j", Log("log"), data(producer, seq))

    threads = [threading.Thread(target=append, args=(producer,)) for producer in range(len(fabrics))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names(drain(one, "j", Log("log"))[0]) == [(producer, seq) for producer in range(4) for seq in range(20)]


def test_a_forked_child_cannot_end_a_lease_of_its_parent(one: Fabric, world: World) -> None:
    child = world.child()
    if child is None:
        pytest.skip("this fabric is in the memory of one process")
    one.enqueue("j", "q", ["a"])
    assert child.ask(take_with_retry, "j", "q") == "a"
    child.ask(end_leases_in_a_fork)
    for _ in range(20):
        assert one.acquire("j", "q") is None
    child.kill()
    assert took(one).task == "a"


def test_a_process_and_its_fork_both_append(one: Fabric, world: World) -> None:
    child = world.child()
    if child is None:
        pytest.skip("this fabric is in the memory of one process")
    child.ask(append_before_and_after_fork, "j", Log("log"))
    assert names(drain(one, "j", Log("log"))[0]) == [(0, 0), (1, 0), (2, 0)]
    child.stop()


@pytest.mark.parametrize("name", ["", ".hidden", "../j", "a/b", "x" * 101])
def test_an_invalid_name_is_refused_before_anything_is_stored(one: Fabric, name: str) -> None:
    for step in (
        lambda: one.append("j", Log(name), data(0, 1)),
        lambda: one.append(name, Log("log"), data(0, 1)),
        lambda: one.create_job(name, b""),
        lambda: one.enqueue("j", name, ["a"]),
        lambda: one.enqueue("j", "q", [name]),
    ):
        with pytest.raises(FabricError, match="invalid name"):
            step()
    assert one.jobs() == ["j"]
    assert one.acquire("j", "q") is None


def test_errors_are_distinguished_by_their_class() -> None:
    """A caller decides by the class alone whether it retries, stops, drops the job or fails it."""
    classes = (FabricLost, FabricFull, JobGone, CorruptRecord, OtherVersion)
    for each in classes:
        assert issubclass(each, FabricError)
        assert not any(issubclass(each, other) for other in classes if other is not each)
    assert len({each.code for each in (FabricError, *classes)}) == len(classes) + 1
