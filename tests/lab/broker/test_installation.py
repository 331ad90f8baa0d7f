"""Finding RabbitMQ in the ways it is installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cauce.lab.broker.installation import find


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def erlang(tmp_path: Path) -> Path:
    executable(tmp_path / "erlang/bin/epmd")
    return executable(tmp_path / "erlang/bin/erl").parent


def unpacked(folder: Path, version: str) -> Path:
    """RabbitMQ's own build; returns the folder of its scripts."""
    (folder / "plugins" / f"rabbit-{version}").mkdir(parents=True)
    (folder / "plugins" / f"rabbit_common-{version}").mkdir()
    executable(folder / "sbin/rabbitmq-env")
    return executable(folder / "sbin/rabbitmq-server").parent


def path_of(*folders: Path) -> str:
    return os.pathsep.join(map(str, folders))


def test_the_generic_build_is_found_on_the_path(tmp_path: Path, erlang: Path) -> None:
    scripts = unpacked(tmp_path / "rabbitmq_server-4.2.1", "4.2.1")
    found = find(path_of(erlang, scripts))
    assert found is not None
    assert (found.scripts, found.version, found.epmd) == (scripts, (4, 2, 1), erlang / "epmd")


def test_behind_a_package_s_wrapper_the_scripts_themselves_are_found(tmp_path: Path, erlang: Path) -> None:
    scripts = unpacked(tmp_path / "usr/lib/rabbitmq/lib/rabbitmq_server-3.10.8", "3.10.8")
    real = tmp_path / "usr/lib/rabbitmq/bin"
    executable(real / "rabbitmq-script-wrapper")
    (real / "rabbitmq-server").symlink_to(scripts / "rabbitmq-server")
    sbin = tmp_path / "usr/sbin"
    sbin.mkdir()
    (sbin / "rabbitmq-server").symlink_to(real / "rabbitmq-script-wrapper")
    found = find(path_of(erlang, sbin))
    assert found is not None
    assert found.server == scripts / "rabbitmq-server"


def test_sbin_is_searched_if_only_bin_is_on_the_path(tmp_path: Path, erlang: Path) -> None:
    scripts = unpacked(tmp_path / "opt", "3.13.0")
    (tmp_path / "opt/bin").mkdir()
    found = find(path_of(erlang, tmp_path / "opt/bin"))
    assert found is not None
    assert found.scripts == scripts


def test_without_erlang_rabbitmq_is_not_found(tmp_path: Path) -> None:
    assert find(path_of(unpacked(tmp_path / "opt", "3.13.0"))) is None
