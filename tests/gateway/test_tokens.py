"""The token file: private to its user, and durable after a power failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.gateway.tokens import FILE, Tokens, create_token, read_tokens, remove_token
from tests.flushes import recorded


def test_a_token_is_durable_with_the_folders_above_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorded(monkeypatch)
    folder = tmp_path / "new" / "service"
    create_token(folder / FILE, "maria")
    above = [("fsync", str(path)) for path in (folder, *folder.parents)]
    assert calls[: len(above)] == above
    (first, forced), second, third = calls[len(above) :]
    assert (first, forced.startswith(f"{folder}/.{FILE}.")) == ("fsync", True)
    assert (second, third) == (("rename", str(folder / FILE)), ("fsync", str(folder)))
    assert list(read_tokens(folder / FILE)) == ["maria"]


def test_the_file_and_its_folder_are_for_their_owner(tmp_path: Path) -> None:
    create_token(tmp_path / "service" / FILE, "maria")
    assert (tmp_path / "service").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "service").iterdir()} == {0o600}


def test_a_token_of_a_former_name_has_another_owner(tmp_path: Path) -> None:
    owners = set()
    for _ in range(3):
        token = create_token(tmp_path / FILE, "maria")
        owners.add(Tokens(tmp_path / FILE).owner(token))
        remove_token(tmp_path / FILE, "maria")
    assert len(owners - {None, "maria"}) == 3
