"""The choice among the installed RabbitMQ and those of other Debian releases."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cauce.errors import UsageError
from cauce.fabric.rabbitmq.settings.required import OLDEST
from cauce.lab.broker import releases
from cauce.lab.broker.releases import BUILD, CACHE, VERSION, best, built, choose, choose_again
from tests.lab.broker.test_installation import executable, path_of, unpacked

pytestmark = pytest.mark.usefixtures("machine")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with Erlang, without any RabbitMQ, that cannot build one."""
    erlang = tmp_path / "erlang/bin"
    executable(erlang / "epmd")
    executable(erlang / "erl")
    monkeypatch.setenv("PATH", str(erlang))
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.delenv(VERSION, raising=False)
    unable = executable(tmp_path / "unable.sh")
    unable.write_text("#!/bin/sh\nexit 3\n")
    monkeypatch.setattr(releases, "BUILD", unable)


def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> Path:
    scripts = unpacked(tmp_path / f"opt-{version}", version)
    monkeypatch.setenv("PATH", path_of(tmp_path / "erlang/bin", scripts))
    return scripts


def add_root(tmp_path: Path, release: str) -> Path:
    root = tmp_path / f"cache/rabbitmq-{release}"
    unpacked(root / f"usr/lib/rabbitmq/lib/rabbitmq_server-{release}.5", f"{release}.5")
    return root


def test_without_rabbitmq_the_error_has_the_way_to_install_it() -> None:
    with pytest.raises(UsageError, match="apt-get install rabbitmq-server"):
        choose()


def test_a_version_that_is_too_old_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "3.9.27")
    with pytest.raises(UsageError, match=r"3\.9\.27 .* is too old: 3\.10 is the oldest"):
        choose()


def test_the_oldest_version_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "3.10.0")
    assert choose().version[: len(OLDEST)] == OLDEST


def test_an_installed_4_is_preferred_to_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_root(tmp_path, "4.0")
    scripts = install(tmp_path, monkeypatch, "4.2.1")
    found = best()
    assert found is not None
    assert (found.scripts, found.root, found.prefix) == (scripts, None, ())


def test_a_root_is_preferred_to_an_installed_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = add_root(tmp_path, "4.0")
    install(tmp_path, monkeypatch, "3.10.8")
    found = choose()
    assert (found.root, found.version) == (root, (4, 0, 5))
    assert found.plugins == root / "usr/lib/rabbitmq/lib/rabbitmq_server-4.0.5/plugins"
    assert str(root) in found.prefix


def test_the_environment_chooses_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_root(tmp_path, "4.0")
    add_root(tmp_path, "4.3")
    install(tmp_path, monkeypatch, "3.10.8")
    chosen = []
    for version in ("4.0", "4.3", "3.10"):
        monkeypatch.setenv(VERSION, version)
        chosen.append(choose().label)
    assert chosen == ["4.0.5", "4.3.5", "3.10.8"]


def test_a_node_keeps_its_version_while_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_root(tmp_path, "4.0")
    add_root(tmp_path, "4.3")
    install(tmp_path, monkeypatch, "4.2.1")
    assert [choose_again(version).label for version in ("4.3", "4.1", None)] == ["4.3.5", "4.2.1", "4.2.1"]


def test_an_unknown_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "3.10.8")
    with pytest.raises(UsageError, match=r"RabbitMQ 3\.1 is not available; expected one of 4\.0, 4\.3, 3\.10\.8"):
        choose("3.1")


def test_a_version_that_cannot_be_built_is_refused() -> None:
    with pytest.raises(UsageError, match=r"RabbitMQ 4\.0 is not installed and cannot be built here"):
        choose("4.0")


def test_an_incomplete_root_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "cache/rabbitmq-4.0/usr").mkdir(parents=True)
    assert built("4.0") is None


def test_the_build_refuses_an_unknown_version() -> None:
    done = subprocess.run(["/bin/bash", str(BUILD), "5.0"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unknown version 5.0; expected 4.0 or 4.3" in done.stderr


def test_the_build_prints_the_directory_that_exists(tmp_path: Path) -> None:
    root = add_root(tmp_path, "4.0")
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["/bin/bash", str(BUILD), "4.0"], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == f"{root}\n"
