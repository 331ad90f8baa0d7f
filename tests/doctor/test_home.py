"""The folder of a host: who is on record, and what is kept for a return."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cauce.doctor import home as home_module
from cauce.doctor.home import Cluster, Entry, Home, id_of, key_of, new_key
from cauce.doctor.messages import Epoch, Incarnation
from cauce.errors import UsageError

LIFE = Incarnation(Epoch(2, "doctor-1@b"), 5)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "service")
    made.make()
    return made


def test_an_incarnation_begins_once(home: Home) -> None:
    entry = home.begin("worker-1@b", LIFE, 3)
    assert entry == Entry("worker-1@b", LIFE, 3, os.getpid(), entry.start if entry else 0)
    assert home.begin("worker-1@b", LIFE, 3) is None
    assert home.begin("worker-1@b", Incarnation(LIFE.epoch, 6), 3) is not None
    assert sorted(path.name for path in home.run.iterdir()) == [
        "worker-1@b+2.doctor-1@b.5",
        "worker-1@b+2.doctor-1@b.6",
    ]


def test_survivors_are_those_that_live_and_the_dead_are_removed(home: Home) -> None:
    home.begin("worker-1", LIFE, 0)
    code = (
        "import sys; from pathlib import Path; from cauce.doctor.home import Home; "
        "from cauce.doctor.messages import Incarnation; Home(Path(sys.argv[1])).begin('worker-2', Incarnation(), 0)"
    )
    subprocess.run([sys.executable, "-c", code, str(home.folder)], check=True)
    assert {entry.name for entry in home.entries()} == {"worker-1", "worker-2"}
    assert [(seen.name, seen.pid) for seen in home.survivors()] == [("worker-1", os.getpid())]
    assert {entry.name for entry in home.entries()} == {"worker-1"}
    home.end("worker-1", LIFE)
    assert home.survivors() == []


def test_the_cluster_is_kept_for_its_owner_alone(home: Home) -> None:
    key = new_key()
    cluster = Cluster(id_of(key), key, {"doctor-1": "127.0.0.1:7"}, "files:x")
    home.write_cluster(cluster)
    assert home.cluster() == cluster
    assert (home.folder / "cluster.json").stat().st_mode & 0o777 == 0o600


def test_a_folder_without_a_service_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no service was started"):
        Home(tmp_path).cluster()


def test_a_broken_file_is_told_by_its_name(home: Home) -> None:
    (home.folder / "cluster.json").write_text("{")
    with pytest.raises(UsageError, match=r"cluster\.json"):
        home.cluster()


def test_the_epoch_only_grows(home: Home) -> None:
    assert home.epoch() == Epoch()
    home.write_epoch(Epoch(4, "doctor-2"))
    home.write_epoch(Epoch(3, "doctor-3"))
    assert home.epoch() == Epoch(4, "doctor-2")


def test_the_last_lines_of_a_log_are_whole_lines(home: Home) -> None:
    assert home.last_lines("worker-1") == ""
    home.log("worker-1").write_text("".join(f"line {number} {'x' * 90}\n" for number in range(100)))
    lines = home.last_lines("worker-1").splitlines()
    assert lines[-1].startswith("line 99 ")
    assert all(line.startswith("line ") for line in lines)


def test_a_log_is_bounded_and_its_writer_goes_on(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_module, "LOG_BYTES", 1000)
    with home.log("worker-1").open("ab", buffering=0) as log:
        log.write(b"old\n" * 300)
        home.bound_log("worker-1")
        log.write(b"new\n")
    assert home.log("worker-1").read_bytes() == b"new\n"
    assert (home.logs / "worker-1.log.1").read_bytes() == b"old\n" * 300


def test_a_key_file_stands_for_a_key(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("0123456789abcdef0123\n")
    key = key_of(file)
    file.write_text("0123456789abcdef0123")
    assert key_of(file) == key
    file.write_text("short")
    with pytest.raises(UsageError, match="too short"):
        key_of(file)
