"""The files for the RabbitMQ Cluster Operator: the names that it decides, and the settings that it is given."""

from __future__ import annotations

import re
from pathlib import Path

import kubernetes_validate
import yaml

from cauce.fabric.address import parse
from cauce.fabric.rabbitmq.settings.required import RELIED_ON
from cauce.lab.deploy.certificates import is_valid
from cauce.lab.deploy.kubernetes import known_certificates
from tests.lab.deploy.conftest import PLAN
from tests.lab.deploy.reading import Document, Written
from tests.lab.deploy.test_broker import read_by_rabbitmq

FIELDS = {
    "affinity",
    "image",
    "persistence",
    "rabbitmq",
    "replicas",
    "resources",
    "secretBackend",
    "terminationGracePeriodSeconds",
    "tls",
}
"""Those of a RabbitmqCluster's specification that are used."""
LONGEST_SETTINGS = 2000
"""Characters of `additionalConfig` that every release of the operator accepts."""


def cluster(operator: Written) -> Document:
    (found,) = [each for each in operator.manifests() if each["kind"] == "RabbitmqCluster"]
    return found


def generated(operator: Written) -> dict[str, Document]:
    return {each["name"]: each for each in operator.document("kustomization.yaml")["secretGenerator"]}


def test_the_cluster_has_three_nodes_of_the_image_of_the_plan(operator: Written) -> None:
    found = cluster(operator)
    assert found["apiVersion"] == "rabbitmq.com/v1beta1"
    assert (found["spec"]["replicas"], found["spec"]["image"]) == (3, PLAN.broker_image)
    assert set(found["spec"]) == FIELDS


def test_other_manifests_conform_to_their_schemas(operator: Written) -> None:
    others = [each for each in operator.manifests() if each["kind"] != "RabbitmqCluster"]
    assert {each["kind"] for each in others} >= {"Deployment", "StatefulSet", "NetworkPolicy", "PodDisruptionBudget"}
    for manifest in others:
        kubernetes_validate.validate(manifest, "1.31", strict=True)


def test_only_the_operator_runs_rabbitmq(operator: Written) -> None:
    assert set(operator.pods()) == {"gateway", "worker", "doctor"}
    assert not (operator.folder / "rabbitmq.conf").exists()


def test_processes_connect_to_the_pods_that_the_operator_names(operator: Written) -> None:
    name = cluster(operator)["metadata"]["name"]
    pods = [f"{name}-server-{number}.{name}-nodes" for number in range(3)]
    assert parse(operator.fabric()).servers == tuple((pod, 5671) for pod in pods)
    for pod in operator.pods().values():
        assert pod["initContainers"][0]["command"][1:] == [f"{each}:5671" for each in pods]


def test_the_certificate_is_valid_for_these_pods(operator: Written) -> None:
    certificates = known_certificates(operator.folder)
    assert certificates is not None
    assert is_valid(certificates, [host for host, _ in parse(operator.fabric()).servers])


def test_rabbitmq_parses_the_additional_settings(operator: Written, tmp_path: Path) -> None:
    text = cluster(operator)["spec"]["rabbitmq"]["additionalConfig"]
    assert len(text) < LONGEST_SETTINGS
    done = read_by_rabbitmq(text, tmp_path)
    assert done.returncode == 0, done.stdout
    read = "".join(done.stdout.split())
    used = '<<"^cauce[.-]|^amq[.]default">>'
    assert "{default_user_tags,[]}" in read
    assert f'{{default_permissions,[<<"^cauce[.-]">>,{used},{used}]}}' in read


def test_every_setting_that_we_rely_on_is_given(operator: Written) -> None:
    given = cluster(operator)["spec"]["rabbitmq"]["additionalConfig"].splitlines()
    assert {line for line in RELIED_ON.splitlines() if not line.startswith("#")} <= set(given)


def test_the_operator_finds_its_secrets_by_name(operator: Written) -> None:
    spec, made = cluster(operator)["spec"], generated(operator)
    for name in (spec["secretBackend"]["externalSecret"]["name"], spec["tls"]["secretName"]):
        assert made[name]["options"] == {"disableNameSuffixHash": True}
    user = made[spec["secretBackend"]["externalSecret"]["name"]]
    assert user["files"] == ["default_user.conf=secrets/login.conf", "secrets/password"]
    assert made[spec["tls"]["secretName"]]["type"] == "kubernetes.io/tls"


def test_no_manifest_holds_a_secret(operator: Written) -> None:
    for path in operator.folder.glob("*.yaml"):
        assert re.search(r"[0-9a-f]{32}|PRIVATE KEY", path.read_text()) is None
        list(yaml.safe_load_all(path.read_text()))


def test_clients_reach_rabbitmq_over_tls_only(operator: Written) -> None:
    assert cluster(operator)["spec"]["tls"]["disableNonTLSListeners"] is True
    policies = {each["metadata"]["name"]: each for each in operator.manifests() if each["kind"] == "NetworkPolicy"}
    from_cauce, from_nodes = policies["to-rabbitmq"]["spec"]["ingress"]
    assert from_cauce["ports"] == [{"port": 5671, "protocol": "TCP"}]
    assert from_nodes["from"][0]["podSelector"] == policies["to-rabbitmq"]["spec"]["podSelector"]


def test_the_readme_names_the_operator(operator: Written, kubernetes: Written) -> None:
    assert "RabbitMQ Cluster Operator" in operator.read("README.md")
    assert "Operator" not in kubernetes.read("README.md")
