"""Findings about a broker's settings: ok, wrong, and not seen."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cauce.fabric.rabbitmq.settings.facts import AmqpFacts, ClusterFacts, NodeFacts, Policy, Rights, Tuning
from cauce.fabric.rabbitmq.settings.finding import NEEDS_AMQP, NEEDS_NODE, Finding
from cauce.fabric.rabbitmq.settings.findings import findings, tuning_findings

GOOD = NodeFacts(
    "rabbit@a",
    partition_handling="pause_minority",
    tick_s=10,
    leader_locator="balanced",
    consumer_timeout_ms=86_400_000,
    heartbeat_s=10,
    frame_max=8 << 20,
    memory_limit=400,
    memory_total=1000,
    disk_limit=512_000_000,
    file_level="info",
    connection_level="warning",
    descriptors=65_536,
    coordinates_streams=True,
)
TUNING = Tuning("RabbitMQ", "3.10.8", 8 << 20, 10)
AMQP = AmqpFacts("cauce", "/", {"a:5672": TUNING}, Rights(True, True, True), {"stream": None, "quorum": None})


def node(name: str, **changed: Any) -> NodeFacts:
    return msgspec.structs.replace(GOOD, name=name, **changed)


def three(**changed: Any) -> ClusterFacts:
    """A cluster of which the last node differs."""
    nodes = [node("rabbit@a"), node("rabbit@b"), node("rabbit@c", **changed)]
    return ClusterFacts("3.10.8", [each.name for each in nodes], nodes)


def wrong(amqp: AmqpFacts | None, cluster: ClusterFacts | None) -> dict[str, Finding]:
    return {each.setting: each for each in findings(amqp, cluster) if each.verdict == "wrong"}


def test_a_good_cluster_has_no_wrong_or_unseen_findings() -> None:
    assert {each.verdict for each in findings(AMQP, three())} == {"ok"}


@pytest.mark.parametrize(
    ("field", "value", "setting", "write"),
    [
        ("partition_handling", "ignore", "cluster_partition_handling", "cluster_partition_handling = pause_minority"),
        ("partition_handling", "autoheal", "cluster_partition_handling", "cluster_partition_handling = pause_minority"),
        ("tick_s", 60, "net_ticktime", "net_ticktime = 10"),
        ("tick_s", 1, "net_ticktime", "net_ticktime = 10"),
        ("leader_locator", "client-local", "queue_leader_locator", "queue_leader_locator = balanced"),
        ("consumer_timeout_ms", 1_800_000, "consumer_timeout", "consumer_timeout = 86400000"),
        ("heartbeat_s", 0, "heartbeat", "heartbeat = 10"),
        ("heartbeat_s", 600, "heartbeat", "heartbeat = 10"),
        ("frame_max", 131_072, "frame_max", "frame_max = 8388608"),
        ("memory_limit", 0, "vm_memory_high_watermark", "vm_memory_high_watermark.relative = 0.4"),
        ("memory_limit", 900, "vm_memory_high_watermark", "vm_memory_high_watermark.relative = 0.4"),
        ("disk_limit", 50_000_000, "disk_free_limit", "disk_free_limit.absolute = 512MB"),
        ("file_level", "error", "log.file.level", "log.file.level = info"),
        ("connection_level", "debug", "log.connection.level", "log.connection.level = warning"),
        ("descriptors", 1024, "descriptors", "LimitNOFILE=65536"),
        ("partitions", ["rabbit@a"], "partitions", "restart the nodes"),
        ("reached", False, "running nodes", "start rabbit@c"),
    ],
)
def test_one_wrong_node_is_reported_with_the_fix(field: str, value: object, setting: str, write: str) -> None:
    found = wrong(AMQP, three(**{field: value}))
    assert list(found) == [setting]
    assert write in found[setting].write


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("heartbeat_s", 60),
        ("frame_max", 0),
        ("consumer_timeout_ms", None),
        ("memory_limit", 130),
        ("file_level", None),
        ("connection_level", None),
    ],
)
def test_harmless_differences_are_ok(field: str, value: object) -> None:
    assert wrong(AMQP, three(**{field: value})) == {}


def test_nodes_that_differ_are_named() -> None:
    assert wrong(None, three(tick_s=60))["net_ticktime"].found == "10 (rabbit@a), 10 (rabbit@b), 60 (rabbit@c)"


def test_a_node_alone_need_not_be_set_up_for_a_cluster() -> None:
    alone = node("rabbit@a", partition_handling="ignore", tick_s=60, leader_locator="client-local")
    assert wrong(AMQP, ClusterFacts("3.10.8", ["rabbit@a"], [alone])) == {}


def test_a_node_whose_peer_is_down_is_still_one_of_a_cluster() -> None:
    left = ClusterFacts("3.10.8", ["rabbit@a", "rabbit@b"], [node("rabbit@a", partition_handling="ignore")])
    assert list(wrong(AMQP, left)) == ["cluster_partition_handling", "running nodes"]


@pytest.mark.parametrize(("version", "reported"), [("3.11.9", True), ("3.12.0", False), ("4.1.2", False)])
def test_the_timeout_of_consumers_matters_until_queues_bring_their_own(version: str, reported: bool) -> None:
    cluster = msgspec.structs.replace(three(consumer_timeout_ms=1_800_000), version=version)
    assert ("consumer_timeout" in wrong(None, cluster)) is reported


@pytest.mark.parametrize(("version", "reported"), [("4.2.0", True), ("4.3.0", False)])
def test_how_partitions_are_handled_matters_until_it_is_settled(version: str, reported: bool) -> None:
    cluster = msgspec.structs.replace(three(partition_handling="ignore"), version=version)
    assert ("cluster_partition_handling" in wrong(None, cluster)) is reported


def test_a_version_that_is_too_old_is_wrong() -> None:
    old = msgspec.structs.replace(AMQP, servers={"a:5672": Tuning("RabbitMQ", "3.9.13", 8 << 20, 10)})
    assert wrong(old, None)["version"].found == "3.9.13"


def test_over_amqp_alone_the_settings_of_nodes_are_not_seen() -> None:
    found = {each.setting: each for each in findings(AMQP, None)}
    unseen = {name for name, each in found.items() if each.verdict == "not seen"}
    assert {"cluster_partition_handling", "net_ticktime", "alarms", "partitions", "policies"} <= unseen
    assert {found[name].write for name in unseen} == {NEEDS_NODE}
    assert {found[name].verdict for name in ("version", "heartbeat", "frame_max", "streams", "right to read")} == {"ok"}


def test_from_a_node_alone_the_rights_of_the_user_are_not_seen() -> None:
    unseen = [each for each in findings(None, three()) if each.verdict == "not seen"]
    assert [each.setting for each in unseen] == [
        "streams",
        "quorum queues",
        "right to configure",
        "right to write",
        "right to read",
    ]
    assert {each.write for each in unseen} == {NEEDS_AMQP}


def test_a_missing_permission_is_reported_with_the_command_that_grants_it() -> None:
    weak = msgspec.structs.replace(AMQP, user="weak", vhost="a b", rights=Rights(True, False, True))
    found = wrong(weak, three())
    assert list(found) == ["right to write"]
    assert found["right to write"].write == "rabbitmqctl set_permissions -p 'a b' weak '.*' '.*' '.*'"


def test_a_kind_of_queue_that_cannot_be_made_is_wrong() -> None:
    found = wrong(msgspec.structs.replace(AMQP, kinds={"stream": "feature flag", "quorum": None}), None)
    assert found["streams"].found == "feature flag"


def test_a_server_of_the_address_that_does_not_answer_is_wrong() -> None:
    assert "server b:5672" in wrong(msgspec.structs.replace(AMQP, servers={"a:5672": TUNING, "b:5672": None}), None)


def test_alarms_are_reported_by_nodes_and_by_blocked_connections() -> None:
    assert wrong(None, msgspec.structs.replace(three(), alarms=["disk on rabbit@b"]))["alarms"].found == (
        "disk on rabbit@b"
    )
    assert wrong(msgspec.structs.replace(AMQP, blocked="low on memory"), None)["alarms"].found == "low on memory"


def test_a_truncating_policy_is_reported_with_the_command_that_removes_it() -> None:
    policy = Policy("trim", "queues", {"max-age": "1h"}, ["cauce.registry"])
    found = wrong(AMQP, msgspec.structs.replace(three(), policies=[policy]))
    assert found["policy trim"].found == "max-age = 1h on cauce.registry"
    assert found["policy trim"].write.startswith("rabbitmqctl clear_policy -p / trim,")


def test_only_wrong_parameters_of_a_server_are_reported() -> None:
    assert tuning_findings(TUNING) == []
    found = tuning_findings(Tuning("RabbitMQ", "3.10.8", 131_072, 0))
    assert [(each.setting, each.found) for each in found] == [("heartbeat", "0"), ("frame_max", "131072")]


def test_a_lost_member_of_the_stream_coordinator_is_found() -> None:
    (found,) = [each for each in findings(AMQP, three(coordinates_streams=False)) if each.verdict == "wrong"]
    assert (found.setting, found.found) == ("stream coordinator", "yes (rabbit@a), yes (rabbit@b), no (rabbit@c)")


def test_before_the_first_stream_no_node_has_a_coordinator() -> None:
    nodes = [node(name, coordinates_streams=False) for name in ("rabbit@a", "rabbit@b")]
    cluster = ClusterFacts("4.3.6", [each.name for each in nodes], nodes)
    assert [each.setting for each in findings(AMQP, cluster) if each.verdict == "wrong"] == []


@pytest.mark.parametrize(
    ("version", "supported"),
    [("3.9.29", False), ("3.10.8", True), ("3.13.7", True), ("4.0.5", True), ("4.3.6", True), ("5.0.0", False)],
)
def test_versions_outside_of_the_supported_range_are_wrong(version: str, supported: bool) -> None:
    servers = {"a:5672": msgspec.structs.replace(TUNING, version=version)}
    found = findings(msgspec.structs.replace(AMQP, servers=servers), None)[0]
    assert (found.setting, found.verdict) == ("version", "ok" if supported else "wrong")
    assert found.wanted == "3.10 to 4.x"
