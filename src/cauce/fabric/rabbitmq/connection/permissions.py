"""Error messages for operations that the broker refused: which permission the user lacks."""

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
    """The error for a refused operation; it names the missing permission if that is known."""
    right = _RIGHTS.get(problem.method_sig) if isinstance(problem, amqp.AccessRefused) else None
    missing = "" if right is None else f"the {right} permission is missing; "
    return FabricError(
        f"RabbitMQ refused an operation ({problem.reply_text}): {missing}grant the user the configure, write and read "
        "permissions in its vhost"
    )
