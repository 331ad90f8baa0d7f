"""A node that dies over the making of a stream may leave one that is declared and takes no message, ever. The same is
made here by hand."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import pytest

from cauce.broker.nodes import Nodes
from cauce.fabric.rabbitmq import RabbitFabric
from cauce.fabric.rabbitmq_queues import stream_name, stream_names
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

FORGET = 'rabbit_amqqueue:internal_delete({{resource, <<"/">>, queue, <<"{name}">>}}, <<"cauce">>).'
"""What was made by hand has to be removed by hand."""


def names_of(broker: Nodes) -> list[str]:
    return broker.ctl("r1", "eval", "[element(4, Name) || Name <- rabbit_amqqueue:list_names()].").split('"')[1::2]


def stillborn(fabric: RabbitFabric, broker: Nodes, log: str) -> str:
    session = fabric._open.session
    name = stream_name(session.namespace, session.directory.registry.jobs["j"], log)
    broker.ctl("r1", "eval", STILLBORN.format(name=name))
    assert name in names_of(broker)
    return name


@pytest.mark.slow
def test_another_stream_takes_its_place(rabbit: Callable[[], RabbitFabric], broker: Nodes) -> None:
    fabric, other = rabbit(), rabbit()
    fabric.create_job("j", b"{}")
    name = stillborn(fabric, broker, "shelf.a")
    began = monotonic()
    fabric.append("j", "shelf.a", data(0, 0, 1))
    print(f"written after {monotonic() - began:.1f} s")  # noqa: T201
    other.append("j", "shelf.b", data(0, 0))
    other.catch_up("j", "shelf.a")
    assert [each.seq for each in other.read("j", "shelf.a", {}, 1 << 20).records] == [0, 1]
    session = other._open.session
    job = session.directory.registry.jobs["j"]
    assert job.tries == {"shelf": 1}
    assert stream_names(session.namespace, job, "shelf.a") == [name, f"{name}.1"]
    fabric.delete_job("j")
    assert f"{name}.1" not in names_of(broker)
    broker.ctl("r1", "eval", FORGET.format(name=name))
