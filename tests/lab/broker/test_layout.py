"""The layout of a folder of nodes, and its storage."""

from __future__ import annotations

import socket
import stat
from itertools import islice
from pathlib import Path

import pytest

from cauce.errors import UsageError
from cauce.lab.broker import layout as layouts
from cauce.lab.broker.layout import LOOPBACK, Layout, Node, Place, decide, free_ports


def test_the_address_names_all_nodes_or_those_asked_for() -> None:
    nodes = Node("r1", "127.0.0.1", 5001, 6001), Node("r2", "127.0.0.2", 5002, 6002)
    layout = Layout(nodes, 4000, "cauce", "secret", "mark")
    assert layout.address() == "amqp://cauce:secret@127.0.0.1:5001/%2F,127.0.0.2:5002"
    assert layout.address(nodes[1]) == "amqp://cauce:secret@127.0.0.2:5002/%2F"


def test_ports_are_unique() -> None:
    layout = decide([LOOPBACK] * 3)
    ports = [port for node in layout.nodes for port in (node.port, node.distribution_port)]
    assert len({*ports, layout.epmd_port}) == 7


def test_two_layouts_share_no_secret() -> None:
    one, other = decide([LOOPBACK]), decide([LOOPBACK])
    assert one.password != other.password
    assert one.mark != other.mark


def test_a_port_in_use_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(free_ports([LOOPBACK]))
    monkeypatch.setattr(layouts, "PORTS", range(first, first + 2))
    with socket.create_server((LOOPBACK, first)):
        assert first not in islice(free_ports([LOOPBACK]), 1)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(UsageError, match=r"192\.0\.2\.1 is not an address of this machine"):
        decide(["192.0.2.1"])


def test_a_layout_is_read_back(tmp_path: Path) -> None:
    place = Place(tmp_path / "deep/er")
    place.prepare()
    assert place.read() is None
    layout = decide([LOOPBACK])
    place.write(layout)
    assert place.read() == layout


def test_only_the_owner_can_read_secrets(tmp_path: Path) -> None:
    place = Place(tmp_path / "nodes")
    place.prepare()
    place.write(decide([LOOPBACK]))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in place.folder.rglob("*")}
    assert modes["broker.json"] == 0o600
    assert modes[".erlang.cookie"] == 0o400
    assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700


def test_a_folder_with_other_files_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match="holds other files"):
        Place(tmp_path).prepare()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(UsageError, match="a file is in the way"):
        Place(tmp_path / "file").prepare()


def test_a_foreign_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "broker.json").write_text("{")
    with pytest.raises(UsageError, match=r"broker\.json is not a file of cauce broker"):
        Place(tmp_path).read()
