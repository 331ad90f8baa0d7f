"""The doctor process."""

from __future__ import annotations

import errno
import resource
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from cauce.doctor.launch.service_dir import ProcessEntry, ServiceDir
from cauce.doctor.model.messages import Epoch, Generation
from cauce.doctor.process import EPOCH_BACKOFF_S, Doctor
from cauce.process.limits import OPEN_FILES
from cauce.process.telemetry.logs import start_logs
from tests.chaos.cluster import Cluster
from tests.service.limits import FEW_FILES


def test_doctors_raise_their_limit_of_open_files(tmp_path: Path) -> None:
    """A doctor needs a descriptor for each process that it monitors."""
    with Cluster(tmp_path, workers=1, gateways=1, doctors=1, open_files=FEW_FILES) as cluster:
        cluster.until_well()
        soft, hard = resource.prlimit(cluster.alive()["doctor-1"].pid, resource.RLIMIT_NOFILE)
    assert soft > FEW_FILES
    assert soft == (OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard))


def test_a_doctor_continues_if_its_epoch_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Epoch] = []

    def write(service_dir: ServiceDir, epoch: Epoch) -> None:
        if not written:
            written.append(Epoch())
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(epoch)

    monkeypatch.setattr(ServiceDir, "write_epoch", write)
    entry = ProcessEntry("doctor-1", Generation())
    with socket.socket() as unused:
        doctor = Doctor(ServiceDir(tmp_path), entry, {}, unused, start_logs("doctor"), lambda role, pid: None)
    epoch = Epoch(1, "doctor-1")
    doctor._core = SimpleNamespace(bully=SimpleNamespace(highest=epoch))  # type: ignore[assignment]
    doctor._persist_epoch(0.0)
    doctor._persist_epoch(EPOCH_BACKOFF_S / 2)
    assert written == [Epoch()]
    doctor._persist_epoch(EPOCH_BACKOFF_S)
    assert written == [Epoch(), epoch]
