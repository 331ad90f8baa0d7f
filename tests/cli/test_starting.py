"""How a service begins: what it takes from the command line, from a file, and from what was wished before."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from cauce.cli.bodies import Launching, launching
from cauce.cli.starting import DOCTORS, GATEWAYS, Wanted, begin, in_boxes, with_file
from cauce.doctor.control import desired, wish
from cauce.doctor.desired import STOPPED, count_key, hold_key
from cauce.doctor.home import Home
from cauce.errors import UsageError


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "service")
    made.make()
    return made


def start(home: Home, wanted: Wanted | None = None) -> None:
    """All but the processes."""
    cluster = begin(home, Launching(port=1), wanted or Wanted())
    home.write_cluster(msgspec.structs.replace(cluster, doctors=dict.fromkeys(cluster.doctors, "127.0.0.1:9")))


def test_the_first_start_takes_defaults(home: Home) -> None:
    start(home)
    counts = desired(home).counts
    assert counts == {("worker", ""): os.cpu_count(), ("gateway", ""): GATEWAYS, ("doctor", ""): DOCTORS}


def test_what_was_scaled_holds_for_the_next_start(home: Home) -> None:
    start(home, Wanted(workers=2))
    wish(home, {count_key("worker"): "7"})
    start(home)
    assert desired(home).counts["worker", ""] == 7
    assert launching(home.cluster()).lanes == 7
    start(home, Wanted(workers=3))
    assert desired(home).counts["worker", ""] == 3


def test_a_process_that_was_stopped_stays_stopped(home: Home) -> None:
    start(home, Wanted(workers=2))
    wish(home, {hold_key("worker-1"): STOPPED})
    start(home)
    assert set(desired(home).held) == {"worker-1"}


def test_key_and_id_stay_the_same(home: Home) -> None:
    start(home)
    before = home.cluster()
    start(home)
    assert (home.cluster().id, home.cluster().key) == (before.id, before.key)
    assert launching(home.cluster()).life != launching(before).life


@pytest.mark.parametrize(
    "text", ["kings = 3", "workers = 'x'", "watch = 3", "workers = true", "= 3", "[timing]\nx = 1"]
)
def test_a_file_that_cannot_be_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"cluster\.toml|--timing"):
        with_file(Wanted(), file).check()


def test_containers_see_what_the_options_name(tmp_path: Path) -> None:
    given = Launching(datasets=[str(tmp_path / "own/shop.py")], allow_files=[str(tmp_path / "data")])
    boxes = in_boxes(given, "cauce:1", "unix:///run/x.sock").boxes
    assert boxes is not None
    assert boxes.binds == [str(tmp_path / "data"), str(tmp_path / "own")]
    assert in_boxes(given, "", "unix:///run/x.sock").boxes is None
