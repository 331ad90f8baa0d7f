"""Gateways, workers and doctors on Kubernetes."""

from __future__ import annotations

from cauce.deploy import commands, image
from cauce.deploy.kubernetes_broker import HOSTS
from cauce.deploy.kubernetes_parts import confined, disruption, from_field, resources, service, user, workload
from cauce.deploy.plan import AMQP_PORT, HTTP_PORT, Plan
from cauce.deploy.yaml import Map

SECRETS = "/run/cauce"
KEY_FILE = f"{SECRETS}/cluster-key"
TOKENS = "/run/tokens"
_END_S = 10
"""A process ends within five seconds; the rest is for its connections."""


def gateways(plan: Plan) -> list[Map]:
    arguments = commands.gateway(plan, _watch(plan), f"{TOKENS}/{commands.TOKENS}")
    container = _container(plan, "gateway", arguments, plan.gateway_memory, "250m")
    mounts: list[Map] = [*_mounts(), {"name": "tokens", "mountPath": TOKENS, "readOnly": True}]
    pod = _pod(plan, {**container, **_answering(), "volumeMounts": mounts})
    volumes: list[Map] = [*_volumes(), {"name": "tokens", "secret": {"secretName": "tokens"}}]
    return [
        service("gateway", {"http": HTTP_PORT}, {"type": "ClusterIP"}),
        workload("Deployment", "gateway", plan.gateways, {}, {**pod, "volumes": volumes}),
        disruption("gateway"),
    ]


def workers(plan: Plan) -> list[Map]:
    arguments = commands.worker(_watch(plan))
    container = _container(plan, "worker", arguments, plan.memory, "500m")
    return [workload("Deployment", "worker", plan.workers, {}, _pod(plan, {**container, **_moving()}))]


def doctors(plan: Plan) -> list[Map]:
    """Each has a name by which the others find it, whether it is well or not."""
    arguments = commands.doctor("$(POD_NAME)", _watch(plan))
    container = {**_container(plan, "doctor", arguments, plan.doctor_memory, "100m"), **_moving()}
    spec: Map = {"serviceName": "doctor", "podManagementPolicy": "Parallel", "ordinals": {"start": 1}}
    headless: Map = {"clusterIP": "None", "publishNotReadyAddresses": True}
    return [
        service("doctor", {"heartbeats": commands.DOCTOR_PORT}, headless, "UDP"),
        workload("StatefulSet", "doctor", plan.doctors, spec, _pod(plan, container)),
        disruption("doctor"),
    ]


def _watch(plan: Plan) -> commands.Watch:
    return commands.Watch([f"doctor-{number}.doctor" for number in range(1, plan.doctors + 1)], KEY_FILE)


def _container(plan: Plan, name: str, arguments: list[str], memory: int, cpu: str) -> Map:
    return {
        "name": name,
        "image": plan.image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments,
        "env": [
            from_field("POD_NAME", "metadata.name"),
            {"name": commands.FABRIC, "valueFrom": {"secretKeyRef": {"name": "cauce", "key": "fabric"}}},
        ],
        "securityContext": confined(read_only=True),
        "resources": resources(memory, cpu),
        "volumeMounts": _mounts(),
    }


def _answering() -> Map:
    """Alive and ready are asked over HTTP. At its start it may have kernels to compile."""
    alive: Map = {"httpGet": {"path": "/healthz", "port": "http"}, **_often()}
    return {
        "ports": [{"name": "http", "containerPort": HTTP_PORT}],
        "startupProbe": {**alive, "failureThreshold": 30},
        "livenessProbe": alive,
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, **_often(), "failureThreshold": 1},
    }


def _moving() -> Map:
    """A loop that has not moved for a minute is started again."""
    return {"livenessProbe": {"exec": {"command": [image.ALIVE]}, **_often()}}


def _often() -> Map:
    return {"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 6}


def _pod(plan: Plan, container: Map) -> Map:
    return {
        "terminationGracePeriodSeconds": _END_S,
        "securityContext": user(image.USER_ID),
        "initContainers": [_wait(plan)],
        "containers": [container],
        "volumes": _volumes(),
    }


def _wait(plan: Plan) -> Map:
    return {
        "name": "broker",
        "image": plan.image,
        "imagePullPolicy": "IfNotPresent",
        "command": [image.WAIT, *(f"{host}:{AMQP_PORT}" for host in HOSTS)],
        "securityContext": confined(read_only=True),
        "resources": resources(64 << 20, "50m"),
    }


def _mounts() -> list[Map]:
    return [
        {"name": "state", "mountPath": image.STATE},
        {"name": "kernels", "mountPath": image.CACHE},
        {"name": "scratch", "mountPath": "/tmp"},
        {"name": "secrets", "mountPath": SECRETS, "readOnly": True},
    ]


def _volumes() -> list[Map]:
    """Nothing of it outlives the pod: what counts is on the RabbitMQ cluster."""
    empty: list[Map] = [{"name": name, "emptyDir": {}} for name in ("state", "kernels", "scratch")]
    only_key: list[Map] = [{"key": "cluster-key", "path": "cluster-key"}]
    return [*empty, {"name": "secrets", "secret": {"secretName": "cauce", "items": only_key}}]
