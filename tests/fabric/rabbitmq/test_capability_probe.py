"""Probes of a real broker's permissions over AMQP, and the error when a fabric lacks one."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from cauce.errors import FabricError, FabricLost
from cauce.fabric.address import Broker, parse
from cauce.fabric.rabbitmq.capability_probe import probe_broker, sample_names
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.rabbitmq.settings.facts import Policy, Rights
from cauce.fabric.rabbitmq.settings.policies import OF_QUEUES, cutting
from cauce.lab.broker.nodes import Nodes
from tests.fabric.rabbit import queues_of

pytestmark = pytest.mark.slow

NOTHING = "^$"


@pytest.fixture
def user(broker: Nodes) -> Iterator[Callable[..., str]]:
    """Creates a user with the given permissions; returns its name, which is also its password."""
    name = f"user-{secrets.token_hex(4)}"
    broker.ctl("r1", "add_user", name, name)

    def grant(configure: str = ".*", write: str = ".*", read: str = ".*") -> str:
        broker.ctl("r1", "set_permissions", name, configure, write, read)
        return name

    yield grant
    broker.ctl("r1", "delete_user", name)


def by(name: str, namespace: str) -> Broker:
    return replace(parse(namespace), user=name, password=name)


def test_a_good_broker_passes_all_probes_and_nothing_is_left(broker: Nodes, namespace: str) -> None:
    found = probe_broker(parse(namespace))
    assert found.rights == Rights(True, True, True)
    assert found.kinds == {"stream": None, "quorum": None}
    assert [(tuning.product, tuning.frame_max, tuning.heartbeat_s) for tuning in found.servers.values() if tuning] == [
        ("RabbitMQ", 8 << 20, 10)
    ]
    assert queues_of(broker, namespace) == set()


@pytest.mark.parametrize("missing", ["configure", "write", "read"])
def test_a_missing_permission_is_detected_and_named(namespace: str, user: Callable[..., str], missing: str) -> None:
    RabbitFabric(parse(namespace)).close()
    weak = by(user(**{missing: NOTHING}), namespace)
    rights = probe_broker(weak).rights
    assert {name: getattr(rights, name) for name in ("configure", "write", "read")} == {
        name: name != missing for name in ("configure", "write", "read")
    }
    with pytest.raises(FabricError, match=f"the {missing} permission is missing; grant the user the configure"):
        RabbitFabric(weak)


def test_a_server_that_does_not_answer_is_reported_and_the_others_are_probed(namespace: str) -> None:
    broker = parse(namespace)
    found = probe_broker(replace(broker, servers=(("127.0.0.1", 1), *broker.servers)))
    assert found.servers["127.0.0.1:1"] is None
    assert found.rights.write


def test_no_server_at_all_is_an_error() -> None:
    with pytest.raises(FabricLost, match="does not answer"):
        probe_broker(Broker((("127.0.0.1", 1),)))


def test_a_wrong_password_is_an_error_at_once(namespace: str) -> None:
    with pytest.raises(FabricError, match=r"refuses user .* vhost '/' \(ACCESS_REFUSED - Login was refused"):
        probe_broker(replace(parse(namespace), password="wrong"))


def test_sample_names_cover_each_kind() -> None:
    names = sample_names("cauce")
    limits = dict.fromkeys(OF_QUEUES, "1")
    assert len(cutting([Policy(name, "quorum_queues", limits, [name]) for name in names])) == 1
    assert len(cutting([Policy(name, "streams", limits, [name]) for name in names])) == len(names) - 1
