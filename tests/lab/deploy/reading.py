"""Parses written files as the platform would: documents, processes with their arguments, secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cauce.lab.deploy.compose import variables
from cauce.lab.deploy.deployment import Platform

Document = dict[str, Any]
_VARIABLE = re.compile(r"\$\{(\w+)(?::\?[^}]*)?\}")


@dataclass(frozen=True)
class Process:
    """A container that runs our command line."""

    name: str
    arguments: list[str]
    environment: dict[str, str]


@dataclass(frozen=True)
class Written:
    platform: Platform
    folder: Path

    def read(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def document(self, path: str) -> Document:
        (only,) = yaml.safe_load_all(self.read(path))
        return only

    def manifests(self) -> list[Document]:
        """All Kubernetes objects except those that kustomize generates from secrets."""
        listed = self.document("kustomization.yaml")["resources"]
        return [document for path in listed for document in yaml.safe_load_all(self.read(path))]

    def services(self) -> dict[str, Document]:
        """The Compose file, with the variables of its environment file substituted."""
        known = variables(self.folder)
        return yaml.safe_load(_VARIABLE.sub(lambda found: known[found[1]], self.read("compose.yaml")))["services"]

    def pods(self) -> dict[str, Document]:
        return {
            document["metadata"]["name"]: document["spec"]["template"]["spec"]
            for document in self.manifests()
            if document["kind"] in ("Deployment", "StatefulSet")
        }

    def fabric(self) -> str:
        """The address that every process reads from its file."""
        return variables(self.folder)["FABRIC"] if self.platform == "compose" else self.read("secrets/fabric")

    def processes(self) -> list[Process]:
        return list(self._of_compose() if self.platform == "compose" else self._of_kubernetes())

    def _of_compose(self) -> Iterator[Process]:
        for name, service in self.services().items():
            if "command" in service:
                yield Process(name, service["command"], service["environment"])

    def _of_kubernetes(self) -> Iterator[Process]:
        for name, pod in self.pods().items():
            (container,) = pod["containers"]
            if "args" in container:
                values = {each["name"]: self._value(name, each) for each in container["env"]}
                yield Process(name, [_filled(each, values) for each in container["args"]], values)

    def _value(self, pod: str, variable: Document) -> str:
        if "value" in variable:
            return str(variable["value"])
        assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
        return f"{pod}-1"


def _filled(argument: str, values: dict[str, str]) -> str:
    return re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], argument)
