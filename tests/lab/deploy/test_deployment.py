"""Writing a deployment: the same bytes except for secrets, nothing overwritten without --force, no secret readable."""

from __future__ import annotations

import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from cauce.errors import UsageError
from cauce.lab.deploy import compose, kubernetes
from cauce.lab.deploy.deployment import PLATFORMS, Platform, deploy
from cauce.lab.deploy.plan import Plan
from cauce.lab.deploy.secret import Secrets, fresh
from tests.lab.deploy.conftest import PACKAGE, PLAN
from tests.lab.deploy.reading import Written

SECRET_FILES = ("password", "cookie", "cluster-key", "fabric", "login.conf", "tokens.json")
SECRET_FILES += ("ca.crt", "ca.key", "tls.crt", "tls.key")
PRIVATE = {
    "compose": {".env", "tls/ca.key"},
    "kubernetes": {f"secrets/{name}" for name in SECRET_FILES},
    "helm": {f"secrets/{name}" for name in SECRET_FILES},
}
CERTIFICATES = {"tls/ca.crt", "tls/tls.crt"}
"""Of Compose: they differ as the keys do, and anybody may read them."""
SECRET = re.compile(rb"(?<![0-9a-f:])[0-9a-f]{64}(?![0-9a-f])")
"""Digests in lock files follow a colon."""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def secrets_in(platform: Platform, folder: Path) -> Secrets:
    found = compose.known(folder) if platform == "compose" else kubernetes.known(folder)
    assert found is not None
    return found


@pytest.mark.parametrize("platform", PLATFORMS)
def test_two_deployments_differ_only_in_their_secrets(platform: Platform, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        deploy(platform, PLAN, folder, PACKAGE)
    first, second = contents(one), contents(other)
    differing = {path for path in first if first[path] != second[path]}
    assert set(first) == set(second)
    public = CERTIFICATES if platform == "compose" else set()
    assert differing == (PRIVATE[platform] | public) - {"secrets/tokens.json"}


def test_only_the_owner_can_read_files_with_secrets(written: Written) -> None:
    modes = {path: stat.S_IMODE((written.folder / path).stat().st_mode) for path in contents(written.folder)}
    assert {path for path, mode in modes.items() if mode == 0o600} == PRIVATE[written.platform]
    assert {mode for path, mode in modes.items() if path not in PRIVATE[written.platform]} == {0o644, 0o755}
    assert {path for path, mode in modes.items() if mode == 0o755} == {
        f"image/bin/{name}" for name in ("cauce", "cauce-alive", "cauce-wait")
    }


def test_secrets_are_nowhere_else(written: Written) -> None:
    secrets = secrets_in(written.platform, written.folder)
    assert len({secrets.password, secrets.cookie, secrets.key}) == 3
    for path, content in contents(written.folder).items():
        if path not in PRIVATE[written.platform]:
            assert SECRET.search(content) is None, path
            assert b"PRIVATE KEY-----\n" not in content, path


def test_the_repr_of_secrets_hides_them() -> None:
    secrets = fresh()
    assert secrets.password not in repr(secrets)
    assert secrets != fresh()


def test_a_folder_that_is_not_empty_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    with pytest.raises(UsageError, match="is not empty; name another with --out, or overwrite it with --force"):
        deploy("compose", PLAN, tmp_path, PACKAGE)
    assert contents(tmp_path) == {"precious": b"x"}


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="a file is in the way"):
        deploy("compose", PLAN, tmp_path / "file", PACKAGE)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_force_writes_again_and_keeps_secrets_and_others_files(platform: Platform, tmp_path: Path) -> None:
    deploy(platform, PLAN, tmp_path, PACKAGE)
    before = secrets_in(platform, tmp_path)
    keys = {path: content for path, content in contents(tmp_path).items() if path.endswith((".crt", ".key"))}
    assert len(keys) >= 3
    (tmp_path / "own.md").write_text("x")
    (tmp_path / "image/src/cauce/gone.py").write_text("x")
    deploy(platform, Plan(workers=9), tmp_path, PACKAGE, force=True)
    after = contents(tmp_path)
    assert secrets_in(platform, tmp_path) == before
    assert {path: after[path] for path in keys} == keys
    assert after["own.md"] == b"x"
    assert "image/src/cauce/gone.py" not in after
    assert b"9 workers" in after["README.md"]
    assert not [path for path in after if path.endswith(".new")]


def test_force_keeps_issued_tokens(tmp_path: Path) -> None:
    deploy("kubernetes", PLAN, tmp_path, PACKAGE)
    tokens = tmp_path / "secrets/tokens.json"
    assert tokens.read_text() == "{}\n"
    tokens.write_text('{"me": {}}')
    deploy("kubernetes", PLAN, tmp_path, PACKAGE, force=True)
    assert tokens.read_text() == '{"me": {}}'


def test_incomplete_secrets_are_generated_again(tmp_path: Path) -> None:
    deploy("compose", PLAN, tmp_path, PACKAGE)
    (tmp_path / ".env").write_text("BROKER_PASSWORD=x\n")
    deploy("compose", PLAN, tmp_path, PACKAGE, force=True)
    assert secrets_in("compose", tmp_path).password != "x"


def test_the_readme_starts_with_three_commands(written: Written) -> None:
    first = re.search(r"```sh\n(.*?)```", written.read("README.md"), re.DOTALL)
    assert first is not None
    assert len(first[1].splitlines()) == 3


def test_an_image_that_is_not_ours_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "photo.jpg").touch()
    with pytest.raises(UsageError, match="was not written by cauce deploy; move it away"):
        deploy("compose", PLAN, tmp_path, PACKAGE, force=True)
    assert (tmp_path / "image" / "photo.jpg").exists()


def test_a_linked_image_is_not_followed(tmp_path: Path) -> None:
    deploy("compose", PLAN, tmp_path / "first", PACKAGE)
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "image").symlink_to(tmp_path / "first" / "image")
    with pytest.raises(UsageError, match="was not written by cauce deploy"):
        deploy("compose", PLAN, tmp_path / "second", PACKAGE, force=True)
    assert (tmp_path / "first" / "image" / "Dockerfile").exists()


def test_force_needs_the_key_of_the_authority_only_for_another_certificate(tmp_path: Path) -> None:
    deploy("kubernetes", PLAN, tmp_path, PACKAGE)
    (tmp_path / "secrets/ca.key").unlink()
    before = contents(tmp_path)
    deploy("kubernetes", PLAN, tmp_path, PACKAGE, force=True)
    assert contents(tmp_path) == before
    with pytest.raises(UsageError, match=r"ca\.key is missing: put it back"):
        deploy("kubernetes", replace(PLAN, operator=True), tmp_path, PACKAGE, force=True)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(("platform", "folder"), [("compose", "tls"), ("kubernetes", "secrets")])
def test_a_removed_certificate_is_issued_again_by_the_same_authority(
    platform: Platform, folder: str, tmp_path: Path
) -> None:
    deploy(platform, PLAN, tmp_path, PACKAGE)
    before = contents(tmp_path)
    (tmp_path / folder / "tls.crt").unlink()
    deploy(platform, PLAN, tmp_path, PACKAGE, force=True)
    after = contents(tmp_path)
    assert after[f"{folder}/ca.crt"] == before[f"{folder}/ca.crt"]
    assert after[f"{folder}/tls.crt"] != before[f"{folder}/tls.crt"]
