"""The service directory of a host: registered processes and persistent state."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cauce.doctor.launch import service_dir as home_module
from cauce.doctor.launch.service_dir import Cluster, ProcessEntry, ServiceDir, id_of, key_of, new_key
from cauce.doctor.model.messages import Epoch, Generation
from cauce.errors import UsageError
from tests.flushes import recorded

GENERATION = Generation(Epoch(2, "doctor-1@b"), 5)


@pytest.fixture
def service_dir(tmp_path: Path) -> ServiceDir:
    made = ServiceDir(tmp_path / "service")
    made.create()
    return made


def test_a_generation_is_registered_once(service_dir: ServiceDir) -> None:
    entry = service_dir.register("worker-1@b", GENERATION, 3)
    assert entry == ProcessEntry("worker-1@b", GENERATION, 3, os.getpid(), entry.start if entry else 0)
    assert service_dir.register("worker-1@b", GENERATION, 3) is None
    assert service_dir.register("worker-1@b", Generation(GENERATION.epoch, 6), 3) is not None
    assert sorted(path.name for path in service_dir.run.iterdir()) == [
        "worker-1@b+2.doctor-1@b.5",
        "worker-1@b+2.doctor-1@b.6",
    ]


def test_running_processes_are_listed_and_other_files_are_removed(service_dir: ServiceDir) -> None:
    service_dir.register("worker-1", GENERATION, 0)
    code = (
        "import sys; from pathlib import Path; from cauce.doctor.launch.service_dir import ServiceDir; "
        "from cauce.doctor.model.messages import Generation; "
        "ServiceDir(Path(sys.argv[1])).register('worker-2', Generation(), 0)"
    )
    subprocess.run([sys.executable, "-c", code, str(service_dir.folder)], check=True)
    assert {entry.name for entry in service_dir.entries()} == {"worker-1", "worker-2"}
    assert [(seen.name, seen.pid) for seen in service_dir.running_processes()] == [("worker-1", os.getpid())]
    assert {entry.name for entry in service_dir.entries()} == {"worker-1"}
    service_dir.unregister("worker-1", GENERATION)
    assert service_dir.running_processes() == []


def test_the_cluster_file_is_readable_only_by_its_owner(service_dir: ServiceDir) -> None:
    key = new_key()
    cluster = Cluster(id_of(key), key, {"doctor-1": "127.0.0.1:7"}, "files:x")
    service_dir.write_cluster(cluster)
    assert service_dir.cluster() == cluster
    assert (service_dir.folder / "cluster.json").stat().st_mode & 0o777 == 0o600


def test_a_directory_without_a_service_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no service was started"):
        ServiceDir(tmp_path).cluster()


def test_a_corrupt_file_is_named_in_the_error(service_dir: ServiceDir) -> None:
    (service_dir.folder / "cluster.json").write_text("{")
    with pytest.raises(UsageError, match=r"cluster\.json"):
        service_dir.cluster()


def test_the_epoch_never_decreases(service_dir: ServiceDir) -> None:
    assert service_dir.epoch() == Epoch()
    service_dir.write_epoch(Epoch(4, "doctor-2"))
    service_dir.write_epoch(Epoch(3, "doctor-3"))
    assert service_dir.epoch() == Epoch(4, "doctor-2")


def test_the_last_lines_of_a_log_are_whole_lines(service_dir: ServiceDir) -> None:
    assert service_dir.last_lines("worker-1") == ""
    service_dir.log("worker-1").write_text("".join(f"line {number} {'x' * 90}\n" for number in range(100)))
    lines = service_dir.last_lines("worker-1").splitlines()
    assert lines[-1].startswith("line 99 ")
    assert all(line.startswith("line ") for line in lines)


def test_a_log_is_rotated_while_its_writer_continues(service_dir: ServiceDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_module, "LOG_BYTES", 1000)
    with service_dir.log("worker-1").open("ab", buffering=0) as log:
        log.write(b"old\n" * 300)
        service_dir.rotate_log("worker-1")
        log.write(b"new\n")
    assert service_dir.log("worker-1").read_bytes() == b"new\n"
    assert (service_dir.logs / "worker-1.log.1").read_bytes() == b"old\n" * 300


def test_a_key_is_derived_from_a_key_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("0123456789abcdef0123\n")
    key = key_of(file)
    file.write_text("0123456789abcdef0123")
    assert key_of(file) == key
    file.write_text("short")
    with pytest.raises(UsageError, match="too short"):
        key_of(file)


def test_with_durability_power_the_cluster_and_the_epoch_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service_dir = ServiceDir(tmp_path)
    calls = recorded(monkeypatch)
    service_dir.write_cluster(Cluster("c", new_key(), {}, "files:x", durability="power"))
    service_dir.write_epoch(Epoch(1, "doctor-1"))
    for name, (forced, renamed, directory) in zip(("cluster.json", "epoch"), (calls[:3], calls[3:]), strict=True):
        assert (forced[0], forced[1].startswith(f"{tmp_path}/.{name}.")) == ("fsync", True)
        assert (renamed, directory) == (("rename", str(tmp_path / name)), ("fsync", str(tmp_path)))


def test_without_durability_power_nothing_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorded(monkeypatch)
    ServiceDir(tmp_path).write_cluster(Cluster("c", new_key(), {}, "files:x"))
    assert calls == [("rename", str(tmp_path / "cluster.json"))]
