"""`cauce broker check` on real nodes with correct and wrong settings, and the warnings that processes log when
they start."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.lab.broker.layout import write_private
from cauce.lab.broker.nodes import Nodes, prepare
from cauce.lab.broker.releases import choose
from tests.broker_guardian import become_user, guard
from tests.brokers import require_rabbitmq
from tests.cli.running import Outcome, cauce, small_books
from tests.fabric.rabbit import in_own_namespace, remove_namespace
from tests.service.running import Running, until

WRONG = "[{rabbit, [{frame_max, 131072}, {heartbeat, 0}, {cluster_partition_handling, autoheal}]}].\n"
WARNING = "broker has wrong settings"


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Two nodes with wrong settings."""
    require_rabbitmq()
    folder = tmp_path_factory.mktemp("wrong")
    with become_user(folder):
        guard(folder, folder / "nodes")
        nodes = prepare(folder / "nodes", 2)
        for node in nodes.layout.nodes:
            write_private(nodes.place.of(node) / "advanced.config", WRONG)
        nodes.start()
        yield nodes
        nodes.stop(gently=False)


@pytest.fixture
def address(wrong: Nodes) -> Iterator[str]:
    made = in_own_namespace(wrong.address)
    yield made
    remove_namespace(made)


def check(folder: Path, *arguments: str) -> Outcome:
    return cauce(folder, "broker", "check", *arguments)


def settings(outcome: Outcome, verdict: str) -> dict[str, str]:
    """The findings by setting."""
    listed = json.loads(outcome.out)["settings"]
    return {each["setting"]: each["found"] for each in listed if each["verdict"] == verdict}


@pytest.mark.slow
def test_a_good_node_has_nothing_wrong(broker: Nodes, tmp_path: Path) -> None:
    outcome = check(tmp_path, "--dir", str(broker.place.folder))
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[0].split("  ")[0] == "setting"
    assert outcome.out.endswith("\nno wrong settings\n")
    assert "not seen" not in outcome.out


@pytest.mark.slow
def test_a_check_over_amqp_prints_how_to_check_the_rest(broker: Nodes, tmp_path: Path) -> None:
    outcome = check(tmp_path, "--fabric", broker.address)
    assert outcome.code == 0, outcome.out
    assert "not checked: give --node rabbit@HOST on a machine with the broker's Erlang cookie" in outcome.out


@pytest.mark.slow
def test_a_node_of_an_operator_is_queried_with_its_rabbitmqctl(
    broker: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(broker.place.home))
    monkeypatch.setenv("ERL_EPMD_PORT", str(broker.layout.epmd_port))
    installation = choose()
    control = tmp_path / "bin/rabbitmqctl"
    control.parent.mkdir()
    control.write_text(f'#!/bin/sh\nexec {shlex.join([*installation.prefix, str(installation.control)])} "$@"\n')
    control.chmod(0o755)
    monkeypatch.setenv("PATH", f"{control.parent}:{os.environ['PATH']}")
    outcome = check(tmp_path, "--node", broker.node("r1").full_name, "--json")
    assert outcome.code == 0, outcome.err
    assert settings(outcome, "ok")["net_ticktime"] == "10"
    assert list(settings(outcome, "not seen"))[-1] == "right to read"


@pytest.mark.slow
def test_wrong_settings_are_reported(wrong: Nodes, tmp_path: Path) -> None:
    outcome = check(tmp_path, "--dir", str(wrong.place.folder), "--json")
    assert outcome.code == 1, outcome.err
    assert settings(outcome, "wrong") == {
        "cluster_partition_handling": "autoheal",
        "heartbeat": "0",
        "frame_max": "131072",
    }
    over_amqp = check(tmp_path, "--fabric", wrong.address, "--json")
    assert over_amqp.code == 1
    assert settings(over_amqp, "wrong") == {"heartbeat": "0", "frame_max": "131072"}


@pytest.mark.slow
def test_only_policies_that_truncate_streams_of_cauce_are_reported(wrong: Nodes, tmp_path: Path) -> None:
    wrong.ctl("r1", "set_policy", "trim", "^cauce", '{"max-length-bytes":1000000}', "--apply-to", "queues")
    wrong.ctl("r1", "set_operator_policy", "hurry", "lease", '{"message-ttl":60000}', "--apply-to", "queues")
    wrong.ctl("r1", "set_policy", "theirs", "^theirs", '{"max-length":10}', "--apply-to", "queues")
    found = settings(check(tmp_path, "--dir", str(wrong.place.folder), "--json"), "wrong")
    policies = {name: policy for name, policy in found.items() if "policy" in name}
    assert list(policies) == ["policy trim", "operator policy hurry"]
    assert policies["policy trim"] == "max-length-bytes = 1000000 on cauce.registry"
    wrong.ctl("r1", "clear_policy", "trim")
    wrong.ctl("r1", "clear_operator_policy", "hurry")
    wrong.ctl("r1", "clear_policy", "theirs")
    assert "policies" in settings(check(tmp_path, "--dir", str(wrong.place.folder), "--json"), "ok")


@pytest.mark.slow
def test_a_gateway_logs_wrong_settings_once(address: str, tmp_path: Path) -> None:
    with Running(tmp_path, "gateway", "--fabric", address) as gateway:
        until("its word", lambda: bool(gateway.events(WARNING)))
        for _ in range(3):
            assert gateway.get("/v1/jobs").status == 200
        (event,) = gateway.events(WARNING)
    assert (event["level"], event["role"]) == ("warning", "gateway")
    assert [(each["setting"], each["found"]) for each in event["settings"]] == [  # type: ignore[attr-defined]
        ("heartbeat", "0"),
        ("frame_max", "131072"),
    ]


@pytest.mark.slow
def test_a_worker_logs_wrong_settings_once(address: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cauce", "worker", "--dir", str(tmp_path / "service")]
    environment = {**os.environ, "CAUCE_FABRIC": address}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, encoding="utf-8") as worker:
        assert worker.stderr is not None
        event = json.loads(worker.stderr.readline())
        worker.send_signal(signal.SIGTERM)
        rest = worker.stderr.read()
    assert (event["event"], event["level"], event["role"]) == (WARNING, "warning", "worker")
    assert WARNING not in rest


@pytest.mark.slow
def test_each_process_of_a_service_logs_wrong_settings(address: str, tmp_path: Path) -> None:
    with Running(
        tmp_path, "serve", "--fabric", address, "--workers", "1", "--gateways", "1", "--doctors", "1"
    ) as served:
        roles = ["doctor", "gateway", "serve", "worker"]
        # It shows the logs of all its processes.
        until("the word of each", lambda: {str(event["role"]) for event in served.events(WARNING)} == set(roles))
        assert served.get("/v1/jobs").status == 200
        assert sorted(str(event["role"]) for event in served.events(WARNING)) == roles


@pytest.mark.slow
def test_a_run_warns_of_wrong_settings_in_one_line(address: str, tmp_path: Path) -> None:
    small_books(tmp_path / "data")
    outcome = cauce(tmp_path, "run", "books", "--data", "data", "--out", "out", "--workers", "2", "--queries", "q1",
                    "--fabric", address)  # fmt: skip
    assert outcome.code == 0, outcome.err
    (line,) = [each for each in outcome.err.splitlines() if "wrong settings" in each]
    assert line.startswith(
        "note the broker has wrong settings: heartbeat is 0, set it in rabbitmq.conf: heartbeat = 10;"
    )
    assert "frame_max is 131072" in line


def test_a_check_without_a_source_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAUCE_FABRIC", raising=False)
    outcome = check(tmp_path)
    assert outcome.code == 2
    assert "nothing to check; set CAUCE_FABRIC, or give --node rabbit@HOST or --dir" in outcome.err


def test_a_folder_without_nodes_has_nothing_to_check(tmp_path: Path) -> None:
    outcome = check(tmp_path, "--dir", "nodes")
    assert outcome.code == 2
    assert "no nodes in nodes" in outcome.err


@pytest.mark.slow
def test_nodes_that_do_not_run_are_an_error(tmp_path: Path) -> None:
    require_rabbitmq()
    prepare(tmp_path / "nodes")
    outcome = check(tmp_path, "--dir", "nodes")
    assert outcome.code == 1
    assert "answers; start them with: cauce broker start" in outcome.err
