"""A node that crashes during a declaration may leave a stream that exists but never confirms a message. These tests
create such a stream by hand."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import pytest

from cauce.fabric.contract import START
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.rabbitmq.queues import stream_name, stream_names
from cauce.lab.broker.nodes import Nodes
from tests.conformance.worlds import data

STILLBORN = """
Name = {{resource, <<"/">>, queue, <<"{name}">>}},
Args = [{{<<"x-queue-type">>, longstr, <<"stream">>}}, {{<<"x-stream-max-segment-size-bytes">>, signedint, 134217728}}],
Queue = amqqueue:new(Name, none, true, false, none, Args, <<"/">>, #{{user => <<"cauce">>}}, rabbit_stream_queue),
Told = #{{epoch => 1, leader_node => node(), nodes => [node()], replica_nodes => [], reference => Name, retention => [],
  name => "__{name}_1", max_segment_size_bytes => 134217728,
  event_formatter => {{rabbit_stream_queue, format_osiris_event, [Name]}}}},
rabbit_amqqueue:internal_declare(amqqueue:set_type_state(Queue, Told), false).
"""

FORGET = """
Name = {{resource, <<"/">>, queue, <<"{name}">>}},
case rabbit_amqqueue:lookup(Name) of
    {{ok, Queue}} ->
        Given = case rabbit_misc:version() >= "3.13" of true -> Queue; false -> Name end,
        rabbit_amqqueue:internal_delete(Given, <<"cauce">>);
    _ -> gone
end.
"""
"""Removes the stream that was created by hand."""


def names_of(broker: Nodes) -> list[str]:
    return broker.ctl("r1", "eval", "[element(4, Name) || Name <- rabbit_amqqueue:list_names()].").split('"')[1::2]


def stillborn(fabric: RabbitFabric, broker: Nodes, group: str) -> str:
    session = fabric._open.session
    name = stream_name(session.namespace, session.registry_client.registry.jobs["j"], group)
    broker.ctl("r1", "eval", STILLBORN.format(name=name))
    assert name in names_of(broker)
    return name


@pytest.mark.slow
def test_an_unusable_stream_is_replaced(rabbit: Callable[[], RabbitFabric], broker: Nodes) -> None:
    fabric, other = rabbit(), rabbit()
    fabric.create_job("j", b"{}")
    name = stillborn(fabric, broker, "group")
    began = monotonic()
    fabric.append("j", Log("group", "a"), data(0, 0, 1))
    print(f"written after {monotonic() - began:.1f} s")  # noqa: T201
    other.append("j", Log("group", "b"), data(0, 0))
    other.read_barrier("j", Log("group", "a"))
    assert [each.seq for each in other.read("j", Log("group", "a"), START, 1 << 20).records] == [0, 1]
    session = other._open.session
    job = session.registry_client.registry.jobs["j"]
    assert job.tries == {"group": 1}
    assert stream_names(session.namespace, job, "group") == [name, f"{name}.1"]
    fabric.delete_job("j")
    assert f"{name}.1" not in names_of(broker)
    broker.ctl("r1", "eval", FORGET.format(name=name))
