"""Policies that truncate our streams and queues."""

from __future__ import annotations

import pytest

from cauce.fabric.rabbitmq.settings.facts import Policy
from cauce.fabric.rabbitmq.settings.policies import cutting

STREAM, QUEUE, LATER_QUEUE = "cauce.ab.fold", "cauce.ab.lease.work", "cauce.ab.lease2.work"


def cut(*policies: Policy) -> list[tuple[str, str]]:
    return [(each.name, each.example) for each in cutting(policies)]


@pytest.mark.parametrize("limit", ["max-length-bytes", "max-age"])
def test_length_and_age_limits_truncate_a_stream(limit: str) -> None:
    assert cut(Policy("p", "streams", {limit: "1"}, [STREAM])) == [("p", STREAM)]


@pytest.mark.parametrize("limit", ["max-length", "max-length-bytes", "message-ttl", "expires", "delivery-limit"])
@pytest.mark.parametrize("queue", [QUEUE, LATER_QUEUE])
def test_length_age_and_delivery_limits_truncate_a_queue(limit: str, queue: str) -> None:
    assert cut(Policy("p", "quorum_queues", {limit: "1"}, [queue])) == [("p", queue)]


@pytest.mark.parametrize(
    "policy",
    [
        Policy("p", "queues", {"queue-leader-locator": "balanced"}, [STREAM, QUEUE]),
        Policy("p", "queues", {"max-age": "1h"}, [QUEUE]),
        Policy("p", "queues", {"message-ttl": "1"}, [STREAM]),
        Policy("p", "classic_queues", {"max-length": "1"}, [QUEUE]),
        Policy("p", "exchanges", {"max-length-bytes": "1"}, [STREAM, QUEUE]),
        Policy("p", "quorum_queues", {"max-length-bytes": "1"}, [STREAM]),
        Policy("p", "queues", {"max-length-bytes": "1"}, []),
    ],
    ids=lambda each: f"{each.applies_to} {'+'.join(each.limits)} on {len(each.names)}",
)
def test_other_policies_are_harmless(policy: Policy) -> None:
    assert cut(policy) == []


def test_only_the_policy_of_the_highest_priority_is_in_force() -> None:
    low = Policy("low", "all", {"max-length-bytes": "1"}, [STREAM], priority=1)
    high = Policy("high", "all", {"initial-cluster-size": "3"}, [STREAM], priority=2)
    assert cut(low, high) == []
    assert cut(low) == [("low", STREAM)]


def test_a_policy_of_the_operator_is_in_force_beside_the_others() -> None:
    own = Policy("own", "all", {"initial-cluster-size": "3"}, [STREAM], priority=9)
    operators = Policy("theirs", "queues", {"max-length-bytes": "1"}, [STREAM], operator=True)
    assert cut(own, operators) == [("theirs", STREAM)]


def test_a_policy_is_reported_once() -> None:
    assert cut(Policy("p", "all", {"max-length-bytes": "1"}, [STREAM, QUEUE])) == [("p", STREAM)]
