"""TLS connections, only to servers with a valid certificate."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cauce.errors import FabricLost
from cauce.fabric.address import Broker, Tls, parse
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from tests.conformance.worlds import data, drain, names
from tests.fabric.proxy import Proxy

_MAKE = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=broker"]


def certificate(folder: Path, *names: str) -> Path:
    made, key = folder / "cert.pem", folder / "key.pem"
    command = [*_MAKE, "-addext", f"subjectAltName={','.join(names)}", "-keyout", str(key), "-out", str(made)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl here to make a certificate with")
    return made


@pytest.fixture
def cafile(tmp_path: Path) -> Path:
    return certificate(tmp_path, "IP:127.0.0.1")


@pytest.fixture
def over_tls(namespace: str, cafile: Path) -> Iterator[Broker]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cafile, cafile.with_name("key.pem"))
    proxy = Proxy(*parse(namespace).servers[0], context)
    yield replace(parse(namespace), servers=(("127.0.0.1", proxy.port),), tls=Tls(str(cafile)))
    proxy.close()


def test_everything_works_over_tls(over_tls: Broker) -> None:
    fabric = RabbitFabric(over_tls)
    fabric.create_job("j", b"")
    fabric.append("j", Log("log"), [*data(0, *range(100)), *data(1, 1, body=bytes(5 << 20))])
    found, _ = drain(fabric, "j", Log("log"))
    assert names(found) == [*((0, seq) for seq in range(100)), (1, 1)]
    fabric.close()


def test_an_untrusted_certificate_is_refused(over_tls: Broker) -> None:
    with pytest.raises(FabricLost, match="certificate verify failed"):
        RabbitFabric(replace(over_tls, tls=Tls()), patience_s=1.0)


def test_a_certificate_of_another_host_is_refused(over_tls: Broker) -> None:
    port = over_tls.servers[0][1]
    with pytest.raises(FabricLost, match="certificate verify failed"):
        RabbitFabric(replace(over_tls, servers=(("localhost", port),)), patience_s=1.0)
