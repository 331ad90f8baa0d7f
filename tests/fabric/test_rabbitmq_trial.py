"""What a real broker lets its users do, tried out over AMQP, and what is said when a fabric lacks a right."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from cauce.broker.facts import Policy, Rights
from cauce.broker.nodes import Nodes
from cauce.broker.policies import OF_QUEUES, cutting
from cauce.errors import FabricError, FabricLost
from cauce.fabric.address import Broker, parse
from cauce.fabric.rabbitmq import RabbitFabric
from cauce.fabric.rabbitmq_trial import sample_names, try_out
from tests.fabric.rabbit import queues_of

pytestmark = pytest.mark.slow

NOTHING = "^$"


@pytest.fixture
def user(broker: Nodes) -> Iterator[Callable[..., str]]:
    """Gives rights to a user of one's own, whose name it returns; the password is the same."""
    name = f"user-{secrets.token_hex(4)}"
    broker.ctl("r1", "add_user", name, name)

    def give(configure: str = ".*", write: str = ".*", read: str = ".*") -> str:
        broker.ctl("r1", "set_permissions", name, configure, write, read)
        return name

    yield give
    broker.ctl("r1", "delete_user", name)


def by(name: str, namespace: str) -> Broker:
    return replace(parse(namespace), user=name, password=name)


def test_a_good_broker_lets_us_do_everything_and_keeps_nothing_of_it(broker: Nodes, namespace: str) -> None:
    found = try_out(parse(namespace))
    assert found.rights == Rights(True, True, True)
    assert found.kinds == {"stream": None, "quorum": None}
    assert [(told.product, told.frame_max, told.heartbeat_s) for told in found.servers.values() if told] == [
        ("RabbitMQ", 8 << 20, 10)
    ]
    assert queues_of(broker, namespace) == set()


@pytest.mark.parametrize("missing", ["configure", "write", "read"])
def test_a_right_that_is_missing_is_found_and_named(namespace: str, user: Callable[..., str], missing: str) -> None:
    RabbitFabric(parse(namespace)).close()
    weak = by(user(**{missing: NOTHING}), namespace)
    rights = try_out(weak).rights
    assert {name: getattr(rights, name) for name in ("configure", "write", "read")} == {
        name: name != missing for name in ("configure", "write", "read")
    }
    with pytest.raises(FabricError, match=f"the right to {missing} is missing; see that the user may configure"):
        RabbitFabric(weak)


def test_a_server_that_is_silent_is_told_and_the_others_are_tried(namespace: str) -> None:
    broker = parse(namespace)
    found = try_out(replace(broker, servers=(("127.0.0.1", 1), *broker.servers)))
    assert found.servers["127.0.0.1:1"] is None
    assert found.rights.write


def test_no_server_at_all_is_an_error() -> None:
    with pytest.raises(FabricLost, match="does not answer"):
        try_out(Broker((("127.0.0.1", 1),)))


def test_a_wrong_password_is_an_error_at_once(namespace: str) -> None:
    with pytest.raises(FabricError, match="does not let user"):
        try_out(replace(parse(namespace), password="wrong"))


def test_samples_are_of_each_kind() -> None:
    names = sample_names("cauce")
    limits = dict.fromkeys(OF_QUEUES, "1")
    assert len(cutting([Policy(name, "quorum_queues", limits, [name]) for name in names])) == 1
    assert len(cutting([Policy(name, "streams", limits, [name]) for name in names])) == len(names) - 1
