"""Processes that are started by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.service.entrypoints import ServiceConfig
from cauce.service.standalone import ProcessIdentity


def test_gateways_know_the_file_with_the_clusters_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    identity = ProcessIdentity("gateway", tmp_path / "service", doctors="127.0.0.1:1", key_file=Path("key"))
    given = identity.with_key_file(ServiceConfig())
    assert tmp_path / "key" in given.settings(tmp_path / "service").limits.private
