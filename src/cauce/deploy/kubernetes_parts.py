"""Pieces that several Kubernetes manifests are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from cauce.deploy.sizes import quantity
from cauce.deploy.yaml import Map

APP = {"app.kubernetes.io/name": "cauce"}


def labels(component: str) -> Map:
    return {**APP, "app.kubernetes.io/component": component}


def workload(kind: Literal["Deployment", "StatefulSet"], name: str, replicas: int, spec: Map, pod: Map) -> Map:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": labels(name)},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels(name)},
            **spec,
            "template": {"metadata": {"labels": labels(name)}, "spec": {**_apart(name), **pod}},
        },
    }


def service(name: str, ports: Mapping[str, int], spec: Map, protocol: str = "TCP") -> Map:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels(name)},
        "spec": {
            **spec,
            "selector": labels(name),
            "ports": [{"name": each, "port": port, "protocol": protocol} for each, port in ports.items()],
        },
    }


def disruption(name: str) -> Map:
    """One pod at a time may be taken away on purpose."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "labels": labels(name)},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels(name)}},
    }


def user(number: int) -> Map:
    """A pod's user, who is not root."""
    return {
        "runAsUser": number,
        "runAsGroup": number,
        "runAsNonRoot": True,
        "fsGroup": number,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def confined(*, read_only: bool) -> Map:
    """A container that may do nothing beyond its own."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": read_only,
    }


def resources(memory: int, cpu: str) -> Map:
    """No limit of processor time: what nobody else needs may be used."""
    return {"requests": {"memory": quantity(memory), "cpu": cpu}, "limits": {"memory": quantity(memory)}}


def from_field(name: str, field: str) -> Map:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}


def _apart(name: str) -> Map:
    """Pods of a kind on different machines, where there are enough."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": labels(name)},
            }
        ],
    }
