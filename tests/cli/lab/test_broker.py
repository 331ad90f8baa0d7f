"""`cauce broker start`, `stop` and `status` on real nodes."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.lab.broker.nodes import Nodes, existing, prepare
from tests.brokers import require_rabbitmq
from tests.cli.running import Outcome, cauce
from tests.lab.broker.looking import living, open_ports, processes_of

ADDRESS = re.compile(r"amqp://cauce:[\w-]{20,}@127\.0\.0\.1:\d+/%2F(,127\.0\.0\.1:\d+)*")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    require_rabbitmq()
    yield tmp_path
    left = existing(tmp_path / "nodes")
    if left is not None:
        left.stop(gently=False)


def broker(folder: Path, command: str, *arguments: str) -> Outcome:
    return cauce(folder, "broker", command, "--dir", "nodes", *arguments)


def nodes_of(folder: Path) -> Nodes:
    found = existing(folder / "nodes")
    assert found is not None
    return found


def test_a_node_is_started_shown_and_stopped(folder: Path) -> None:
    started = broker(folder, "start")
    assert (started.code, started.err) == (0, "")
    output, address, how_to_stop = started.out.splitlines()
    assert output.endswith(": started r1")
    assert ADDRESS.fullmatch(address)
    assert how_to_stop == f"Stop with: cauce broker stop --dir {folder / 'nodes'}"

    again = broker(folder, "start")
    assert again.code == 0
    assert again.out.splitlines()[0].endswith(": already running r1")
    assert again.out.splitlines()[1] == address

    nodes = nodes_of(folder)
    status = json.loads(broker(folder, "status", "--json").out)
    assert status["members"] == ["r1"]
    assert status["address"] == address
    assert [(node["pid"], node["answers"]) for node in status["nodes"]] == [(nodes.pid("r1"), True)]

    before = processes_of(nodes)
    assert len(before) > 2
    stopped = broker(folder, "stop")
    assert (stopped.code, stopped.out) == (0, "stopped r1\n")
    assert living(before) == []
    assert open_ports(nodes) == []

    assert broker(folder, "stop") == Outcome(0, "no node was running in nodes\n", "")


@pytest.mark.slow
def test_a_stopped_node_is_shown_and_started_again(folder: Path) -> None:
    assert broker(folder, "start").code == 0
    nodes = nodes_of(folder)
    address, killed = nodes.address, nodes.pid("r1")
    nodes.kill("r1")
    status = broker(folder, "status")
    assert status.code == 1
    assert status.out.splitlines()[0].endswith("\tnot running")
    started = json.loads(broker(folder, "start", "--json").out)
    assert (started["started"], started["address"]) == (["r1"], address)
    assert nodes.pid("r1") not in (None, killed)
    assert broker(folder, "status").code == 0


@pytest.mark.soak
def test_three_nodes_form_a_cluster_and_are_stopped(folder: Path) -> None:
    started = broker(folder, "start", "--nodes", "3", "--json")
    assert started.code == 0, started.err
    assert json.loads(started.out)["started"] == ["r1", "r2", "r3"]
    assert ADDRESS.fullmatch(json.loads(started.out)["address"])
    status = broker(folder, "status")
    assert status.code == 0
    assert "members\tr1, r2, r3" in status.out
    nodes = nodes_of(folder)
    before = processes_of(nodes)
    assert broker(folder, "stop").out == "stopped r1, r2, r3\n"
    assert living(before) == []
    assert open_ports(nodes) == []


@pytest.mark.slow
def test_the_error_of_a_failed_start_has_the_cause_and_the_log(folder: Path) -> None:
    nodes = prepare(folder / "nodes")
    (nodes.place.folder / "r1").mkdir()
    (nodes.place.folder / "r1/data").write_text("a file where a folder should be")
    outcome = broker(folder, "start")
    assert outcome.code == 1
    assert outcome.err.startswith("error [broker] node r1 did not start on 127.0.0.1:")
    assert str(nodes.place.folder / "r1/log") in outcome.err
    assert "BOOT FAILED" in outcome.err
    assert (nodes.pid("r1"), nodes.epmd_pid(), open_ports(nodes)) == (None, None, [])


def test_a_port_taken_meanwhile_is_reported(folder: Path) -> None:
    nodes = prepare(folder / "nodes")
    port = nodes.node("r1").port
    with socket.create_server(("127.0.0.1", port)):
        outcome = broker(folder, "start")
    assert outcome.code == 1
    assert f"port {port}, which node r1 had before, is taken by another program" in outcome.err
    assert (nodes.pid("r1"), nodes.epmd_pid(), open_ports(nodes)) == (None, None, [])


def test_another_number_of_nodes_needs_another_folder(folder: Path) -> None:
    prepare(folder / "nodes", 1)
    outcome = broker(folder, "start", "--nodes", "3")
    assert outcome.code == 2
    assert "was made for --nodes 1, not 3; name another folder" in outcome.err


def test_a_folder_without_nodes_has_no_status(tmp_path: Path) -> None:
    outcome = broker(tmp_path, "status")
    assert outcome.code == 2
    assert "no nodes in nodes; start some with: cauce broker start" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_of_two_nodes_is_refused(tmp_path: Path) -> None:
    outcome = broker(tmp_path, "start", "--nodes", "2")
    assert outcome.code == 2
    assert "invalid value 2 of --nodes; expected 1 or 3" in outcome.err


def test_without_rabbitmq_the_error_has_the_way_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CAUCE_CACHE", str(tmp_path))
    monkeypatch.delenv("CAUCE_RABBITMQ_VERSION", raising=False)
    outcome = broker(tmp_path, "start")
    assert outcome.code == 2
    assert outcome.err.startswith("error [usage] RabbitMQ is not installed")
    assert "apt-get install rabbitmq-server" in outcome.err
    assert list(tmp_path.iterdir()) == []
