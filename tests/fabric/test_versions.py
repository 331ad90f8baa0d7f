"""Stored structures of another version are refused with an error that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.doctor.launch.service_dir import Cluster, ServiceDir
from cauce.errors import OtherVersion, UsageError
from cauce.fabric.files.fabric import FilesFabric
from cauce.fabric.versions import check_version
from cauce.gateway.tokens import create_token, read_tokens


def test_the_version_that_this_program_reads_passes() -> None:
    check_version(3, 3, "it")


def test_a_newer_version_is_named() -> None:
    with pytest.raises(OtherVersion, match="it was written by a newer version of Cauce: it has version 4"):
        check_version(4, 3, "it")


def test_an_older_version_is_named() -> None:
    with pytest.raises(OtherVersion, match="it was written by an older version of Cauce: it has version 2"):
        check_version(2, 3, "it")


def test_a_cluster_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text('{"version": 99, "other": "fields"}')
    with pytest.raises(UsageError, match=r"cluster.json was written by a newer version of Cauce: it has version 99"):
        ServiceDir(tmp_path).cluster()


def test_a_cluster_file_says_its_version(tmp_path: Path) -> None:
    ServiceDir(tmp_path).write_cluster(Cluster("id", "00" * 32, {}, "files:x"))
    assert '"version": 1' in (tmp_path / "cluster.json").read_text()


def test_tokens_of_a_newer_version_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tokens.json").write_text('{"version": 99, "other": "fields"}')
    with pytest.raises(UsageError, match=r"tokens.json was written by a newer version of Cauce: it has version 99"):
        read_tokens(tmp_path / "tokens.json")


def test_tokens_without_a_version_are_read_and_get_one(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text('{"version": {"sha256": "aa", "created": 1.0}}')
    assert list(read_tokens(file)) == ["version"]
    create_token(file, "second")
    assert list(read_tokens(file)) == ["version", "second"]
    assert '"version": 1' in file.read_text()


def test_a_folder_of_the_files_fabric_says_its_version(tmp_path: Path) -> None:
    FilesFabric(tmp_path).close()
    assert (tmp_path / "fabric.json").read_bytes() == b'{"version":1}'
    FilesFabric(tmp_path).close()


def test_a_folder_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fabric.json").write_text('{"version": 99}')
    with pytest.raises(OtherVersion, match=r"fabric.json\) was written by a newer version of Cauce: it has version 99"):
        FilesFabric(tmp_path)
