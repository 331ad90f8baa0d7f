"""Reads the settings of all nodes of a cluster with one call of `rabbitmqctl eval`. Changes nothing.

The answer is JSON in base64, so that neither the width of a terminal nor Erlang's formatting matters.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from cauce.errors import BrokerFailed
from cauce.fabric.rabbitmq.settings.facts import ClusterFacts

MOST_NAMES = 1000
"""Limit of existing streams and queues that policies are matched against."""

Eval = Callable[[str], str]
"""Evaluates Erlang code on a node and returns the output."""

_CODE = Path(__file__).with_name("cluster_facts.erl").read_text(encoding="utf-8")
_PIECE = re.compile(r'"([A-Za-z0-9+/=]*)"')


def read_cluster_facts(evaluate: Eval, vhost: str, namespace: str, samples: Sequence[str]) -> ClusterFacts:
    """`samples` are names of streams and queues that Cauce may create, in addition to the existing ones."""
    printed = evaluate(erlang_code(vhost, namespace, samples))
    try:
        return msgspec.json.decode(base64.b64decode("".join(_PIECE.findall(printed))), type=ClusterFacts)
    except (binascii.Error, msgspec.DecodeError):
        raise BrokerFailed(f"the answer of the node cannot be decoded: {printed.strip()[:300]}") from None


def erlang_code(vhost: str, namespace: str, samples: Sequence[str]) -> str:
    """The code as one line, with all external text as lists of byte values, so that nothing needs quoting."""
    given = {
        "@VHOST": _binary(vhost),
        "@PREFIX": _binary(namespace),
        "@SAMPLES": f"[{','.join(map(_binary, samples))}]",
        "@MOST": str(MOST_NAMES),
    }
    lines = (line for line in _CODE.splitlines() if not line.startswith("%"))
    text = " ".join(" ".join(lines).split())
    for place, value in given.items():
        text = text.replace(place, value)
    return text


def _binary(text: str) -> str:
    return f"<<{','.join(map(str, text.encode()))}>>"
