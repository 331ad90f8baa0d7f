"""The RabbitMQ cluster on Kubernetes: a StatefulSet whose pods keep their names and disks."""

from __future__ import annotations

from cauce.deploy import broker
from cauce.deploy.kubernetes_parts import confined, disruption, from_field, resources, service, user, workload
from cauce.deploy.plan import AMQP_PORT, BROKERS, Plan
from cauce.deploy.sizes import quantity
from cauce.deploy.yaml import Map

NAME = "rabbitmq"
HOSTS = tuple(f"{NAME}-{number}.{NAME}" for number in range(BROKERS))
_PORTS = {"amqp": AMQP_PORT, "epmd": 4369, "distribution": 25672, "metrics": 15692}
_LEAVE_S = 60
"""How long a node that is to end waits until the others can do without it."""


def manifests(plan: Plan) -> list[Map]:
    # Nodes must find each other before they are ready: only together are they.
    headless: Map = {"clusterIP": "None", "publishNotReadyAddresses": True}
    spec: Map = {
        "serviceName": NAME,
        "podManagementPolicy": "Parallel",
        "volumeClaimTemplates": [_disk(plan)],
    }
    return [
        service(NAME, _PORTS, headless),
        workload("StatefulSet", NAME, BROKERS, spec, _pod(plan)),
        disruption(NAME),
    ]


def _disk(plan: Plan) -> Map:
    return {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": quantity(plan.storage)}},
        },
    }


def _pod(plan: Plan) -> Map:
    return {
        "terminationGracePeriodSeconds": 2 * _LEAVE_S,
        "securityContext": user(broker.USER_ID),
        "initContainers": [_cookie(plan)],
        "containers": [_node(plan)],
        "volumes": [
            {"name": "settings", "configMap": {"name": NAME}},
            {"name": "secrets", "secret": {"secretName": NAME}},
        ],
    }


def _cookie(plan: Plan) -> Map:
    """Erlang takes a cookie only from a file that nobody but its owner may read, which a mounted secret is not."""
    return {
        "name": "cookie",
        "image": plan.broker_image,
        "command": ["install", "-m", "600", "/secrets/cookie", broker.COOKIE],
        "securityContext": confined(read_only=True),
        "resources": resources(64 << 20, "50m"),
        "volumeMounts": [
            {"name": "data", "mountPath": broker.DATA},
            {"name": "secrets", "mountPath": "/secrets", "readOnly": True},
        ],
    }


def _node(plan: Plan) -> Map:
    leave = f"rabbitmq-upgrade await_online_quorum_plus_one -t {_LEAVE_S} || true"
    return {
        "name": NAME,
        "image": plan.broker_image,
        "env": _environment(),
        "ports": [{"name": name, "containerPort": port} for name, port in _PORTS.items()],
        # It listens only when it has joined the cluster.
        "readinessProbe": {"tcpSocket": {"port": "amqp"}, "periodSeconds": 5, "failureThreshold": 3},
        "lifecycle": {"preStop": {"exec": {"command": ["bash", "-c", leave]}}},
        "securityContext": confined(read_only=False),
        "resources": resources(plan.broker_memory, "500m"),
        "volumeMounts": [
            {"name": "data", "mountPath": broker.DATA},
            _one("settings", "rabbitmq.conf", broker.SETTINGS),
            _one("settings", "enabled_plugins", "/etc/rabbitmq/enabled_plugins"),
            _one("secrets", "login.conf", broker.LOGIN),
        ],
    }


def _environment() -> list[Map]:
    plain: list[Map] = [{"name": name, "value": value} for name, value in broker.ENVIRONMENT.items()]
    return [
        from_field("POD_NAME", "metadata.name"),
        from_field("POD_NAMESPACE", "metadata.namespace"),
        {"name": "RABBITMQ_USE_LONGNAME", "value": "true"},
        {"name": "RABBITMQ_NODENAME", "value": f"rabbit@$(POD_NAME).{NAME}.$(POD_NAMESPACE)"},
        *plain,
    ]


def _one(volume: str, file: str, path: str) -> Map:
    """A single file, so that those that the image has beside it stay."""
    return {"name": volume, "subPath": file, "mountPath": path, "readOnly": True}
