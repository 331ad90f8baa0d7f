"""Addresses: parsing, errors for invalid ones, and hiding of passwords."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cauce.errors import UsageError
from cauce.fabric.address import Broker, Tls, check, is_broker, parse, shown
from cauce.fabric.factory import open_fabric
from cauce.fabric.files.fabric import FilesFabric


@pytest.mark.parametrize("prefix", ["", "files:"])
def test_a_path_is_a_files_fabric(tmp_path: Path, prefix: str) -> None:
    fabric = open_fabric(f"{prefix}{tmp_path / 'work'}")
    assert isinstance(fabric, FilesFabric)
    fabric.create_job("j", b"")
    assert (tmp_path / "work" / "jobs" / "j").is_dir()


@pytest.mark.parametrize(
    ("address", "broker"),
    [
        ("amqp://host", Broker((("host", 5672),))),
        ("amqps://host", Broker((("host", 5671),), tls=Tls())),
        ("amqp://u:p@host:1234/", Broker((("host", 1234),), "u", "p")),
        ("AMQP://u:p@host", Broker((("host", 5672),), "u", "p")),
        ("AmqpS://u:p@host", Broker((("host", 5671),), "u", "p", tls=Tls())),
        ("amqp://u:p@s:s/w@host", Broker((("host", 5672),), "u", "p@s:s/w")),
        ("amqp://u:50%25@host", Broker((("host", 5672),), "u", "50%")),
        ("amqp://u:p@host/%2F", Broker((("host", 5672),), "u", "p")),
        ("amqp://u%40x:p%3A%2F%40@host/a%2Fb", Broker((("host", 5672),), "u@x", "p:/@", "a/b")),
        ("amqp://u:p@a:1/v,b:2,c", Broker((("a", 1), ("b", 2), ("c", 5672)), "u", "p", "v")),
        ("amqp://u:p@a:1,b:2/v", Broker((("a", 1), ("b", 2)), "u", "p", "v")),
        ("amqp://u:p@[::1]:7/v", Broker((("::1", 7),), "u", "p", "v")),
        ("amqp://u:p@host/v?namespace=n-1", Broker((("host", 5672),), "u", "p", "v", "n-1")),
        (
            "amqps://u:p@host?cafile=/ca&certfile=/cert&keyfile=/key",
            Broker((("host", 5671),), "u", "p", tls=Tls("/ca", "/cert", "/key")),
        ),
    ],
)
def test_addresses_are_parsed(address: str, broker: Broker) -> None:
    assert is_broker(address)
    assert parse(address) == broker


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("amqp://", "is not a host and a port"),
        ("amqp://u:secret@host:0", "is not a host and a port"),
        ("amqp://u:secret@host:99999", "is not a host and a port"),
        ("amqp://u:secret@host:x", "is not a host and a port"),
        ("amqp://u:secret@a,,b", "is not a host and a port"),
        ("amqp://u:secret@host/v,", "is not a host and a port"),
        ("amqp://u:secret@host?namespace=", "the namespace must be"),
        ("amqp://u:secret@host?namespace=a.b", "the namespace must be"),
        ("amqp://u:secret@host?other=1", "unknown option"),
        ("amqp://u:secret@host?cafile=/x", "unknown option"),
        ("amqps://u:secret@host?keyfile=/x", "keyfile needs a certfile"),
        ("http://u:secret@host", "unknown scheme http; it must begin with amqp"),
        ("amqp://u:sec?secret@host", "% by %25"),
        ("amqp://u:x@y?secret@host", "% by %25"),
        ("amqp://u:secret%@host", "% by %25"),
        ("amqp://u:secret%zz@host", "% by %25"),
        ("amqp://u:secret", "'u' is not a host and a port"),
    ],
)
def test_the_error_for_an_invalid_address_hides_the_password(address: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as raised:
        parse(address)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("amqp://u:secret@host/v", "amqp://***@host/v"),
        ("amqp://u:sec:r@et@host/v", "amqp://***@host/v"),
        ("amqps://u:secret/x@host", "amqps://***@host"),
        ("AMQP://u:secret@host", "AMQP://***@host"),
        ("amqp:/u:secret@host", "amqp:/***@host"),
        ("amqp:u:secret@host", "amqp:***@host"),
        ("u:secret@host", "***@host"),
        ("amqp://u@host", "amqp://***@host"),
        ("amqp://u:secret", "amqp://u:***"),
        ("amqp://host:5672/v", "amqp://host:5672/v"),
        ("files:/some/where", "files:/some/where"),
        ("files:/home/me@company/x", "files:/home/me@company/x"),
        ("/some/where", "/some/where"),
    ],
)
def test_a_password_is_not_shown(address: str, public: str) -> None:
    assert shown(address) == public


def test_a_password_is_not_in_what_python_shows() -> None:
    broker = parse("amqp://u:secret@host")
    assert "secret" not in f"{broker} {broker!r}"


def test_durability_power_is_refused_for_a_broker() -> None:
    with pytest.raises(UsageError, match="three nodes or more"):
        open_fabric("amqp://u:secret@host", "power")


def test_the_amqp_library_is_loaded_only_for_a_broker() -> None:
    code = "import sys, cauce.fabric.address; sys.exit('amqp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "address",
    [
        "amqp:/u:secret@host",
        "amqp:u:secret@host",
        "amqpx://u:secret@host",
        "AMQ://u:secret@host",
        "http://u:secret@host",
        "u:secret@host",
        "localhost:5672",
        "files://u:secret@host",
        "files:",
        "",
    ],
)
def test_a_mistyped_address_does_not_become_a_folder(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (check, open_fabric):
        with pytest.raises(UsageError, match="expected amqp://user:password@host:port/vhost, amqps://… or") as raised:
            use(address)
        assert "secret" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_marked_path_may_have_any_characters(tmp_path: Path) -> None:
    open_fabric(f"files:{tmp_path}/me@company:x").close()
    assert (tmp_path / "me@company:x" / "jobs").is_dir()
