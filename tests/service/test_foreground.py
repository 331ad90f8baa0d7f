"""The foreground process of a service: when it starts another doctor, and when it ends."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cauce.doctor.launch.service_dir import Cluster, ServiceDir, id_of, new_key
from cauce.doctor.model.desired_state import DesiredState
from cauce.doctor.model.timing import Timing
from cauce.process.table import start_of
from cauce.service import foreground
from cauce.service.foreground import Foreground, LogTail


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr(foreground, "spawn", lambda home, name: names.append(name))
    monkeypatch.setattr(foreground, "CARE_S", -1.0)
    monkeypatch.setattr(foreground, "read_desired_state", lambda home: DesiredState(running=True))
    return names


def without_doctors(folder: Path, stop_with: tuple[int, int]) -> Foreground:
    """Of a service whose doctors have all exited, and that nobody has stopped."""
    key = new_key()
    doctors = {"doctor-1": "127.0.0.1:1"}
    fabric = f"files:{folder / 'jobs'}"
    cluster = Cluster(id_of(key), key, doctors, fabric, timing=Timing(orphan=-1.0), stop_with=stop_with)
    home = ServiceDir(folder)
    home.run.mkdir(parents=True)
    home.write_cluster(cluster)
    return Foreground(home, cluster, LogTail(folder), lambda text: None)


def test_a_doctor_is_started_if_none_runs(tmp_path: Path, spawned: list[str]) -> None:
    assert without_doctors(tmp_path, (os.getpid(), start_of(os.getpid())))._ensure_doctor()
    assert spawned == ["doctor-1"]


def test_none_is_started_after_the_exit_of_the_process_that_the_service_ends_with(
    tmp_path: Path, spawned: list[str]
) -> None:
    """The doctors may stop before one of them is elected: then nothing records that the service is stopped."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert not without_doctors(tmp_path, (ended.pid, 1))._ensure_doctor()
    assert spawned == []
