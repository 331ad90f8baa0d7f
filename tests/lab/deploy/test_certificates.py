"""The certificates that a deployment issues: accepted for its hosts only, kept while they are valid."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from cauce.errors import UsageError
from cauce.lab.deploy import certificates
from cauce.lab.deploy.certificates import Certificates, is_valid, issued

HOSTS = ["rabbitmq-0.rabbitmq", "localhost"]


@pytest.fixture(scope="module")
def made() -> Certificates:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to issue certificates with")
    return issued(HOSTS)


def test_clients_accept_the_certificate_for_every_host(made: Certificates) -> None:
    assert is_valid(made, HOSTS)


def test_clients_refuse_it_for_another_host(made: Certificates) -> None:
    assert not is_valid(made, ["rabbitmq-1.rabbitmq"])


def test_clients_refuse_the_certificate_of_another_authority(made: Certificates) -> None:
    other = issued(HOSTS)
    assert not is_valid(replace(made, authority=other.authority), HOSTS)


def test_a_key_of_another_certificate_is_detected(made: Certificates) -> None:
    assert not is_valid(replace(made, server_key=issued(HOSTS).server_key), HOSTS)


def test_valid_certificates_are_kept(made: Certificates) -> None:
    assert issued(HOSTS[:1], made) is made


def test_the_same_authority_signs_for_other_hosts(made: Certificates) -> None:
    other = issued(["another"], made)
    assert other.authority == made.authority
    assert is_valid(other, ["another"])


def test_a_certificate_that_expires_soon_is_issued_again(made: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "_DAYS", 10)
    short = issued(["another"], made)
    assert not is_valid(short, ["another"])
    monkeypatch.undo()
    again = issued(["another"], short)
    assert (again.authority, is_valid(again, ["another"])) == (made.authority, True)


def test_without_the_key_of_the_authority_nothing_is_issued(made: Certificates) -> None:
    without = replace(made, authority_key="")
    assert issued(HOSTS, without) is without
    with pytest.raises(UsageError, match=r"ca\.key is missing"):
        issued(["another"], without)


def test_a_missing_openssl_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="openssl is not installed"):
        issued(HOSTS)


def test_the_repr_hides_keys(made: Certificates) -> None:
    assert "PRIVATE KEY" in made.server_key
    assert "PRIVATE KEY" not in repr(made)
