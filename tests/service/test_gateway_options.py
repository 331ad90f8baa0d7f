"""The options of a gateway: limits with messages for wrong ones, and paths that are private to the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.errors import UsageError
from cauce.service.entrypoints import ServiceConfig
from cauce.service.gateway_options import checked, gateway_settings


def test_a_limit_is_set(tmp_path: Path) -> None:
    assert gateway_settings(ServiceConfig(limits=["jobs=7"]), tmp_path).limits.jobs == 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("foo=1", r"^unknown limit foo; expected one of backlog_bytes=\d+, "),
        ("job=1", "^unknown limit job; did you mean jobs?"),
        ("jobs", "^invalid value '' of --limit jobs; expected a number, as in jobs="),
        ("jobs=many", "^invalid value 'many' of --limit jobs; expected a number, as in jobs="),
        ("jobs=0", "^invalid --limit jobs=0; the value must be at least 1$"),
    ],
)
def test_the_error_of_an_invalid_limit_names_the_expected_values(given: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        gateway_settings(ServiceConfig(limits=[given]), tmp_path)


def test_files_of_the_service_are_private(tmp_path: Path) -> None:
    named = {name: str(tmp_path / name) for name in ("tokens", "tls_cert", "tls_key", "key_file")}
    given = ServiceConfig(fabric=f"files:{tmp_path}/fabric", **named)  # type: ignore[arg-type]
    private = gateway_settings(given, tmp_path / "service").limits.private
    assert set(private) == {tmp_path / name for name in ("service", "fabric", *named)}


def test_the_key_for_a_broker_is_private(tmp_path: Path) -> None:
    given = ServiceConfig(fabric=f"amqps://host?certfile={tmp_path}/cert&keyfile={tmp_path}/key")
    settings = gateway_settings(given, tmp_path / "service")
    assert set(settings.limits.private) == {tmp_path / "service", tmp_path / "key"}
    assert settings.root is None


def test_the_file_with_the_address_of_the_fabric_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUCE_FABRIC_FILE", str(tmp_path / "address"))
    given = ServiceConfig(fabric="amqp://host")
    assert tmp_path / "address" in gateway_settings(given, tmp_path / "service").limits.private


def test_the_folder_of_a_files_fabric_is_the_root_of_the_jobs(tmp_path: Path) -> None:
    folder = tmp_path / "service"
    assert gateway_settings(ServiceConfig(), folder).root == folder
    assert gateway_settings(ServiceConfig(fabric=f"files:{tmp_path}/fabric"), folder).root == tmp_path / "fabric"


def test_clients_may_not_refer_to_files_of_the_fabric(tmp_path: Path) -> None:
    inside = tmp_path / "fabric" / "jobs"
    inside.mkdir(parents=True)
    given = ServiceConfig(fabric=f"files:{tmp_path}/fabric", allow_files=[str(inside)])
    with pytest.raises(UsageError, match="the service's own directory"):
        checked(given, tmp_path / "service")


def test_the_path_of_a_fabric_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "service").mkdir()
    assert checked(ServiceConfig(fabric="files:fabric"), tmp_path / "service").fabric == f"files:{tmp_path}/fabric"


@pytest.mark.parametrize("required", [True, False])
def test_tokens_can_be_required_on_loopback(tmp_path: Path, required: bool) -> None:
    made = checked(ServiceConfig(require_token=required), tmp_path)
    assert gateway_settings(made, tmp_path).needs_token == required
