"""The directory of a service is for its user alone, and nothing in it is removed that the service has not created."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.other_user import openable_by_nobody
from tests.cli.running import cauce
from tests.service.running import Running


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    """In a directory that others may enter, as an operator may have made it before."""
    # Not below pytest's own directory, which no other user can enter.
    place = Path(tempfile.mkdtemp(prefix="cauce-private-"))
    place.chmod(0o755)
    before = os.umask(0o022)
    try:
        (place / "service").mkdir()
        assert cauce(place, "token", "create", "maria", "--dir", "service").code == 0
        with Running(place, "serve", "--workers", "1", "--gateways", "1", "--doctors", "1") as running:
            assert running.create("job").status == 201
            yield running
    finally:
        os.umask(before)
        shutil.rmtree(place)


@pytest.mark.quick
def test_everything_that_a_service_creates_is_private(service: Running) -> None:
    wide = {
        str(path.relative_to(service.folder)): oct(mode)
        for path in service.folder.rglob("*")
        if (mode := path.lstat().st_mode & 0o777) != (0o700 if path.is_dir() else 0o600)
    }
    assert wide == {}
    names = {path.name for path in service.folder.iterdir()}
    assert names >= {"cluster.json", "epoch", "jobs", "log", "metrics", "run", "tokens.json", "trash"}


@pytest.mark.quick
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_can_neither_read_nor_lock_anything(service: Running) -> None:
    paths = [str(path) for path in service.folder.rglob("*")]
    assert any(path.endswith("manifest.json") for path in paths)
    assert openable_by_nobody([str(service.folder)]) == [str(service.folder)]
    assert openable_by_nobody(paths) == []


@pytest.mark.quick
def test_a_directory_that_others_may_enter_is_reported(service: Running) -> None:
    printed = "".join(service.log_text().split("\n"))
    assert f"other users may read {service.folder} (its mode is 755)" in printed
    assert f"chmod -R go= {service.folder}" in printed


def test_a_second_service_leaves_the_metrics_of_the_first(service: Running, tmp_path: Path) -> None:
    before = sorted(path.name for path in (service.folder / "metrics").iterdir())
    assert any(name.endswith(".db") for name in before)
    outcome = cauce(tmp_path, "serve", "--dir", str(service.folder), "--port", "0")
    assert outcome.code == 2
    assert "already running" in outcome.err
    assert sorted(path.name for path in (service.folder / "metrics").iterdir()) == before


def test_a_second_service_in_the_same_directory_is_reported_before_its_port(service: Running, tmp_path: Path) -> None:
    port = service.url.rpartition(":")[2]
    outcome = cauce(tmp_path, "serve", "--dir", str(service.folder), "--port", port)
    assert outcome.code == 2
    assert f"a service is already running in {service.folder}" in outcome.err


def test_a_metrics_directory_of_another_program_is_refused_and_not_changed(tmp_path: Path) -> None:
    precious = tmp_path / "service" / "metrics" / "precious.db"
    precious.parent.mkdir(parents=True)
    precious.touch()
    outcome = cauce(tmp_path, "serve", "--dir", "service", "--port", "0")
    assert (outcome.code, "was not created by this version of Cauce" in outcome.err) == (2, True)
    assert precious.exists()


def test_a_linked_metrics_directory_is_refused_and_its_target_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "precious").touch()
    (tmp_path / "service").mkdir()
    (tmp_path / "service" / "metrics").symlink_to(tmp_path / "target")
    outcome = cauce(tmp_path, "serve", "--dir", "service", "--port", "0")
    assert (outcome.code, "is a symbolic link" in outcome.err) == (2, True)
    assert os.listdir(tmp_path / "target") == ["precious"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create a directory of another user")
def test_the_error_for_root_has_the_command_to_run_as_the_user_of_the_service(tmp_path: Path) -> None:
    (tmp_path / "service").mkdir()
    os.chown(tmp_path / "service", 65534, 65534)
    for command in (["token", "create", "maria"], ["stop"], ["serve", "--port", "0"]):
        outcome = cauce(tmp_path, *command, "--dir", "service")
        assert (outcome.code, "belongs to user nobody; run this command as that user" in outcome.err) == (2, True)
    assert os.listdir(tmp_path / "service") == []
