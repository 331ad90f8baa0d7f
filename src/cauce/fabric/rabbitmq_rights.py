"""Which right a user lacks, by what the broker has refused."""

from __future__ import annotations

import amqp
from amqp import spec

from cauce.errors import FabricError

_RIGHTS = {
    spec.Queue.Declare: "configure",
    spec.Queue.Delete: "configure",
    spec.Basic.Publish: "write",
    spec.Basic.Consume: "read",
    spec.Basic.Get: "read",
}


def refused(problem: amqp.AMQPError) -> FabricError:
    """The error for it, which names the right if it is one of those."""
    right = _RIGHTS.get(problem.method_sig) if isinstance(problem, amqp.AccessRefused) else None
    missing = "" if right is None else f"the right to {right} is missing; "
    return FabricError(
        f"RabbitMQ refuses ({problem.reply_text}): {missing}see that the user may configure, write and read in its "
        "vhost"
    )
