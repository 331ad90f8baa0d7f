"""The cause of a worker's exit, as determined by its host."""

from __future__ import annotations

import pytest

from cauce.errors import FabricError
from cauce.job.crashes import Cause, Scene
from cauce.process.memory_kills import MemoryKills
from cauce.worker.crash_causes import HostWitness


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> list[MemoryKills]:
    """The last entry is the current counter of the kernel."""
    counters = [MemoryKills("host", 4)]
    monkeypatch.setattr("cauce.worker.crash_causes.memory_kills", lambda: counters[-1])
    return counters


def test_a_kill_for_lack_of_memory_since_the_start_is_evidence(kills: list[MemoryKills]) -> None:
    witness = HostWitness("w1")
    scene = witness.scene()
    assert witness.cause(scene) == ""
    kills.append(MemoryKills("host", 5))
    assert witness.cause(scene) == "memory"


def test_counters_of_another_host_are_ignored(kills: list[MemoryKills]) -> None:
    scene = HostWitness("w1").scene()
    kills.append(MemoryKills("another", 5))
    assert HostWitness("w2").cause(scene) == ""


def test_without_a_kernel_counter_the_cause_is_unknown(kills: list[MemoryKills]) -> None:
    kills.append(MemoryKills())
    assert HostWitness().cause(HostWitness().scene()) == ""


def recorded(worker: str) -> Cause:
    return "fault" if worker == "w1" else ""


def test_a_recorded_cause_is_known_by_the_name_of_the_process(kills: list[MemoryKills]) -> None:
    witness = HostWitness("w2", recorded)
    kills.append(MemoryKills("host", 5))
    assert witness.cause(Scene(worker="w1", scope="host", kills=4)) == "fault"
    assert witness.cause(Scene(worker="w3", scope="host", kills=4)) == "memory"


def test_without_records_of_doctors_the_kernel_counter_is_used(kills: list[MemoryKills]) -> None:
    def fails(worker: str) -> Cause:
        raise FabricError("not now")

    assert HostWitness("w2", fails).cause(Scene(worker="w1", scope="host", kills=3)) == "memory"
