"""The configuration of a node, by version and by number of nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.lab.broker.configuration import control_environment, environment, settings
from cauce.lab.broker.layout import Layout, Node, Place

NODES = tuple(Node(f"r{number}", f"127.0.0.{number}", 5000 + number, 6000 + number) for number in (1, 2, 3))
ALONE = Layout(NODES[:1], 4000, "cauce", "secret", "mark")
CLUSTER = Layout(NODES, 4000, "cauce", "secret", "mark")


def settings_of(version: tuple[int, ...], layout: Layout) -> dict[str, str]:
    """The keys and values of the first node's configuration."""
    lines = settings(version, layout, layout.nodes[0]).splitlines()
    pairs = [line.partition(" = ") for line in lines if line and not line.startswith("#")]
    keys = {key: value for key, _, value in pairs}
    assert len(keys) == len(pairs), "a key stands twice"
    return keys


def test_a_node_listens_only_on_its_own_address() -> None:
    keys = settings_of((3, 10, 8), CLUSTER)
    assert {key: value for key, value in keys.items() if key.startswith("listeners")} == {
        "listeners.tcp.1": "127.0.0.1:5001"
    }


def test_the_settings_that_the_service_relies_on_are_set() -> None:
    keys = settings_of((3, 10, 8), CLUSTER)
    assert keys["net_ticktime"] == "10"
    assert keys["cluster_partition_handling"] == "pause_minority"
    assert keys["queue_leader_locator"] == "balanced"
    assert int(keys["consumer_timeout"]) > 60 * 60 * 1000


def test_peer_discovery_lists_all_nodes() -> None:
    keys = settings_of((3, 10, 8), CLUSTER)
    peers = [value for key, value in keys.items() if key.startswith("cluster_formation.classic_config.nodes.")]
    assert peers == ["r1@127.0.0.1", "r2@127.0.0.2", "r3@127.0.0.3"]


def test_a_single_node_has_no_peer_discovery() -> None:
    assert not [key for key in settings_of((3, 10, 8), ALONE) if key.startswith("cluster_")]


def test_nodes_share_the_memory() -> None:
    assert settings_of((3, 10, 8), ALONE)["vm_memory_high_watermark.relative"] == "0.40"
    assert settings_of((3, 10, 8), CLUSTER)["vm_memory_high_watermark.relative"] == "0.13"


@pytest.mark.parametrize(("version", "handled"), [((3, 10, 8), True), ((4, 2, 0), True), ((4, 3, 0), False)])
def test_partition_handling_is_set_only_for_versions_that_have_it(version: tuple[int, ...], handled: bool) -> None:
    assert ("cluster_partition_handling" in settings_of(version, CLUSTER)) is handled


@pytest.mark.parametrize(("version", "hurried"), [((3, 10, 8), True), ((3, 13, 0), False), ((4, 1, 0), False)])
def test_newer_versions_keep_their_own_peer_discovery(version: tuple[int, ...], hurried: bool) -> None:
    assert ("cluster_formation.discovery_retry_limit" in settings_of(version, CLUSTER)) is hurried


def test_every_path_of_a_node_is_below_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RABBITMQ_MNESIA_DIR", "/var/lib/rabbitmq/mnesia")
    monkeypatch.setenv("ERL_EPMD_PORT", "4369")
    variables = environment(Place(tmp_path), CLUSTER, NODES[1])
    assert variables["ERL_EPMD_PORT"] == "4000"
    paths = {name: value for name, value in variables.items() if name.startswith("RABBITMQ_") and value.startswith("/")}
    assert paths.pop("RABBITMQ_CONF_ENV_FILE") == "/dev/null"
    assert len(paths) > 5
    assert [name for name, value in paths.items() if not value.startswith(f"{tmp_path}/r2/")] == []
    assert variables["HOME"].startswith(str(tmp_path))


def test_rabbitmqctl_has_the_cookie_and_the_name_server_of_the_nodes(tmp_path: Path) -> None:
    node = environment(Place(tmp_path), CLUSTER, NODES[0])
    control = control_environment(Place(tmp_path), CLUSTER, NODES[0])
    assert {control[name] == node[name] for name in ("HOME", "ERL_EPMD_PORT", "RABBITMQ_USE_LONGNAME")} == {True}
