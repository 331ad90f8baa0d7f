"""The files of a deployment for Kubernetes: a folder for `kubectl apply -k`. Secrets stay in files of their own."""

from __future__ import annotations

from pathlib import Path

from cauce.deploy import broker, kubernetes_broker, kubernetes_pods
from cauce.deploy.commands import TOKENS
from cauce.deploy.files import File
from cauce.deploy.kubernetes_broker import HOSTS
from cauce.deploy.kubernetes_parts import APP, labels
from cauce.deploy.plan import HTTP_PORT, Plan
from cauce.deploy.secret import Secrets
from cauce.deploy.yaml import Map, written
from cauce.errors import UsageError

SECRETS = "secrets"
PASSWORD, COOKIE, KEY, FABRIC, LOGIN = "password", "cookie", "cluster-key", "fabric", "login.conf"
OLDEST_BROKER = (4, 1)
"""From it on pods find each other by their names; before, they asked the Kubernetes API, which needs rights."""


def check(plan: Plan) -> None:
    if plan.broker_version < OLDEST_BROKER:
        oldest = ".".join(map(str, OLDEST_BROKER))
        raise UsageError(f"--broker-image {plan.broker_image} is too old for Kubernetes, which needs {oldest} at least")


def files(plan: Plan, secrets: Secrets) -> list[File]:
    manifests = {
        "namespace.yaml": [_namespace(plan)],
        "broker.yaml": kubernetes_broker.manifests(plan),
        "gateways.yaml": kubernetes_pods.gateways(plan),
        "workers.yaml": kubernetes_pods.workers(plan),
        "doctors.yaml": kubernetes_pods.doctors(plan),
        "network.yaml": _network(),
    }
    comment = "Written by `cauce deploy kubernetes`; README.md says how to run it."
    return [
        File("kustomization.yaml", written(_kustomization(plan, list(manifests)), comment)),
        *(File(path, "---\n".join(map(written, each))) for path, each in manifests.items()),
        File("rabbitmq.conf", broker.settings(plan, broker.by_ordinal())),
        File("enabled_plugins", "[rabbitmq_peer_discovery_k8s,rabbitmq_prometheus].\n"),
        *_secret_files(secrets),
    ]


def _secret_files(secrets: Secrets) -> list[File]:
    contents = {
        PASSWORD: secrets.password,
        COOKIE: secrets.cookie,
        KEY: secrets.key,
        FABRIC: broker.address(secrets.password, HOSTS),
        LOGIN: broker.login(secrets.password),
    }
    return [File(f"{SECRETS}/{name}", content, private=True) for name, content in contents.items()]


def first_tokens(folder: Path) -> list[File]:
    """A file of tokens without any, unless one is there: they are made with `cauce token`."""
    path = f"{SECRETS}/{TOKENS}"
    return [] if (folder / path).exists() else [File(path, "{}\n", private=True)]


def known(folder: Path) -> Secrets | None:
    """Those of an earlier writing: the RabbitMQ cluster keeps the password that it was first started with."""
    try:
        return Secrets(*((folder / SECRETS / name).read_text(encoding="utf-8") for name in (PASSWORD, COOKIE, KEY)))
    except FileNotFoundError:
        return None


def _kustomization(plan: Plan, manifests: list[str]) -> Map:
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": plan.name,
        "resources": manifests,
        # Their names end in a digest of what they hold: a change of it replaces the pods that read it.
        "configMapGenerator": [{"name": "rabbitmq", "files": ["rabbitmq.conf", "enabled_plugins"]}],
        "secretGenerator": [
            {"name": "rabbitmq", "files": [f"{SECRETS}/{name}" for name in (COOKIE, LOGIN)]},
            {"name": "cauce", "files": [f"{SECRETS}/{name}" for name in (FABRIC, KEY)]},
            # Gateways read it again when it changes.
            {"name": "tokens", "files": [f"{SECRETS}/{TOKENS}"], "options": {"disableNameSuffixHash": True}},
        ],
    }


def _namespace(plan: Plan) -> Map:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": plan.name, "labels": dict(APP)}}


def _network() -> list[Map]:
    """Our pods speak to each other; only gateways are spoken to by others."""
    everybody: Map = {"podSelector": {"matchLabels": dict(APP)}, "policyTypes": ["Ingress"]}
    gateways: Map = {"podSelector": {"matchLabels": labels("gateway")}, "policyTypes": ["Ingress"]}
    return [
        _policy("among-ourselves", {**everybody, "ingress": [{"from": [{"podSelector": {"matchLabels": dict(APP)}}]}]}),
        _policy("to-gateways", {**gateways, "ingress": [{"ports": [{"port": HTTP_PORT, "protocol": "TCP"}]}]}),
    ]


def _policy(name: str, spec: Map) -> Map:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "labels": dict(APP)},
        "spec": spec,
    }
