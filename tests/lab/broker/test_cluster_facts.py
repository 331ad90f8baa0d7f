"""Reading the settings of a real node."""

from __future__ import annotations

import pytest

from cauce.errors import BrokerFailed
from cauce.lab.broker.cluster_facts import erlang_code, read_cluster_facts
from cauce.lab.broker.nodes import Nodes


def test_the_code_survives_a_second_shell_expansion() -> None:
    asked = erlang_code("a $b `c` \\d", 'e"f', ["g'h"])
    assert not set("$`\\\n") & set(asked)
    assert "@" not in asked


def test_an_answer_that_cannot_be_decoded_is_shown() -> None:
    with pytest.raises(BrokerFailed, match=r"cannot be decoded: \{error, sorry\}"):
        read_cluster_facts(lambda _: "{error, sorry}\n", "/", "cauce", [])


@pytest.mark.slow
def test_a_node_returns_its_settings(broker: Nodes) -> None:
    found = read_cluster_facts(lambda asked: broker.ctl("r1", "eval", asked), "/", "cauce", ["cauce.registry"])
    (node,) = found.nodes
    assert found.members == [node.name] == [broker.node("r1").full_name]
    assert (node.reached, node.tick_s, node.leader_locator) == (True, 10, "balanced")
    assert (node.heartbeat_s, node.frame_max, node.consumer_timeout_ms) == (10, 8 << 20, 86_400_000)
    assert (node.file_level, node.connection_level, node.partitions) == ("info", "warning", [])
    assert node.memory_limit
    assert node.memory_total
    assert node.memory_limit < node.memory_total
    assert node.disk_limit == 512_000_000
    assert node.descriptors


@pytest.mark.slow
def test_a_node_returns_which_names_its_policies_match(broker: Nodes) -> None:
    samples = ["asked-1.registry", "asked-1.ab.lease.q", "other"]
    broker.ctl("r1", "set_policy", "asked", "^asked-1[.]ab", '{"max-length":7}', "--priority", "3")
    try:
        found = read_cluster_facts(lambda asked: broker.ctl("r1", "eval", asked), "/", "asked-1", samples).policies
    finally:
        broker.ctl("r1", "clear_policy", "asked")
    (policy,) = [each for each in found if each.name == "asked"]
    assert (policy.names, policy.limits, policy.priority) == (["asked-1.ab.lease.q"], {"max-length": "7"}, 3)
    assert not policy.operator
