"""The README beside the written files: the three commands to run, and what to know after them."""

from __future__ import annotations

from cauce.deploy.compose import ENVIRONMENT_FILE
from cauce.deploy.image import STATE
from cauce.deploy.kubernetes import SECRETS
from cauce.deploy.plan import HTTP_PORT, Plan
from cauce.deploy.sizes import quantity

COMPOSE_VERSION = "2.23.1"
"""From it on the contents of a configuration may stand in the file."""
KUBERNETES_VERSION = "1.31"
"""From it on the numbers of a StatefulSet may begin with 1 without a switch."""


def compose(plan: Plan) -> str:
    return f"""\
# Cauce on Docker Compose

{_counted(plan)} in containers, on one machine. It needs Docker Compose {COMPOSE_VERSION} or newer. In this folder:

```sh
docker compose build
docker compose up --detach --wait
docker compose exec gateway-1 cauce token create me --dir {STATE}
```

The last one prints a token, once. Then, from a clone of Cauce on this machine:

```sh
./cauce submit books --data DIR {_gateways(plan)} --token TOKEN
```

| to | run |
|---|---|
| see what runs | `docker compose ps` |
| have more workers | `docker compose up --detach --no-recreate --scale worker={2 * plan.workers}` |
| stop, and go on later | `docker compose stop`, `docker compose start` |
| be rid of all, data too | `docker compose down --volumes` |

- `{ENVIRONMENT_FILE}` holds the passwords. Keep it: the RabbitMQ cluster knows the one it was first started with.
- Gateways are shown to this machine alone. Put a proxy that speaks TLS before them to show them to others.
- What dies is started again by Docker.
- Volumes have no size here: the disk must hold {quantity(plan.storage)} for each of the three RabbitMQ nodes.
- After a change of Cauce: `cauce deploy compose --force` with the same options, then the first two commands again.
"""


def kubernetes(plan: Plan) -> str:
    return f"""\
# Cauce on Kubernetes

{_counted(plan)}. It needs Kubernetes {KUBERNETES_VERSION} or newer and a default class of storage.
From a clone of Cauce, with this folder as DIR:

```sh
docker build --tag {plan.image} DIR/image && docker push {plan.image}
./cauce token create me --dir DIR/{SECRETS}
kubectl apply --kustomize DIR
```

The second one prints a token, once. Then:

```sh
kubectl --namespace {plan.name} port-forward service/gateway {HTTP_PORT}:{HTTP_PORT} &
./cauce submit books --data FILES --gateway http://127.0.0.1:{HTTP_PORT} --token TOKEN
```

| to | run |
|---|---|
| see what runs | `kubectl --namespace {plan.name} get pods` |
| have more workers | `kubectl --namespace {plan.name} scale deployment/worker --replicas {2 * plan.workers}` |
| give out another token | the second and the third command again; gateways see it within a minute or two |
| be rid of all, data too | `kubectl delete namespace {plan.name}` |

- `{SECRETS}/` holds the passwords. Keep it: the RabbitMQ cluster knows the one it was first started with.
- The machines of the cluster fetch `{plan.image}`: its name must begin with a registry that they reach.
- The service `gateway` is for the inside of the cluster. Put an Ingress that speaks TLS before it to show it to others.
- What dies, or has not moved for a minute, is started again by Kubernetes.
- The RabbitMQ nodes ask for {quantity(plan.storage)} of disk each.
- After a change of Cauce: `cauce deploy kubernetes --force` with the same options and a new tag for the image, then
  the first and the third command again.
"""


def _counted(plan: Plan) -> str:
    def some(count: int, what: str) -> str:
        return f"{count} {what}{'s' if count > 1 else ''}"

    return (
        f"{some(plan.gateways, 'gateway')}, {some(plan.workers, 'worker')}, {some(plan.doctors, 'doctor')} "
        "and a RabbitMQ cluster of three"
    )


def _gateways(plan: Plan) -> str:
    return " ".join(f"--gateway http://127.0.0.1:{plan.port + number}" for number in range(plan.gateways))
