"""The manifests for Kubernetes hold to its schemas, and what they name is there."""

from __future__ import annotations

import kubernetes_validate
import pytest

from cauce.deploy.kubernetes import check
from cauce.deploy.plan import Plan
from cauce.deploy.readme import KUBERNETES_VERSION
from cauce.errors import UsageError
from cauce.fabric.address import parse
from tests.deploy.conftest import PLAN
from tests.deploy.reading import Document, Written

VERSIONS = (KUBERNETES_VERSION, kubernetes_validate.latest_version())
"""The oldest that the README promises, and the newest with a schema."""


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_holds_to_its_schema(kubernetes: Written, version: str) -> None:
    for manifest in kubernetes.manifests():
        kubernetes_validate.validate(manifest, version, strict=True)


def test_the_schemas_can_be_broken(kubernetes: Written) -> None:
    (workers,) = [each for each in kubernetes.manifests() if each["metadata"]["name"] == "worker"]
    workers["spec"]["template"]["spec"]["containers"][0]["livenessProb"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="livenessProb"):
        kubernetes_validate.validate(workers, VERSIONS[0], strict=True)


def of_kind(kubernetes: Written, *kinds: str) -> dict[str, Document]:
    return {each["metadata"]["name"]: each for each in kubernetes.manifests() if each["kind"] in kinds}


def test_there_are_as_many_of_each_as_were_asked_for(kubernetes: Written) -> None:
    counts = {name: each["spec"]["replicas"] for name, each in of_kind(kubernetes, "Deployment", "StatefulSet").items()}
    assert counts == {"rabbitmq": 3, "gateway": PLAN.gateways, "worker": PLAN.workers, "doctor": PLAN.doctors}


def test_selectors_find_the_pods_that_are_meant(kubernetes: Written) -> None:
    workloads = of_kind(kubernetes, "Deployment", "StatefulSet")
    labels = {name: each["spec"]["template"]["metadata"]["labels"] for name, each in workloads.items()}
    for name, workload in workloads.items():
        assert workload["spec"]["selector"]["matchLabels"] == labels[name]
    for name, service in of_kind(kubernetes, "Service").items():
        assert service["spec"]["selector"] == labels[name]
    for name, budget in of_kind(kubernetes, "PodDisruptionBudget").items():
        assert budget["spec"]["selector"]["matchLabels"] == labels[name]


def test_every_file_that_is_gathered_is_there(kubernetes: Written) -> None:
    gathered = kubernetes.document("kustomization.yaml")
    generators = [*gathered["configMapGenerator"], *gathered["secretGenerator"]]
    paths = [*gathered["resources"], *(path for each in generators for path in each["files"])]
    assert [path for path in paths if not (kubernetes.folder / path).is_file()] == []


def held(kubernetes: Written, generator: str) -> dict[str, set[str]]:
    """What kustomize makes: the names, with the keys in each."""
    made = kubernetes.document("kustomization.yaml")[generator]
    return {each["name"]: {path.split("/")[-1] for path in each["files"]} for each in made}


def test_every_secret_and_setting_that_is_used_is_made(kubernetes: Written) -> None:
    secrets, settings = held(kubernetes, "secretGenerator"), held(kubernetes, "configMapGenerator")
    for pod in kubernetes.pods().values():
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for volume in volumes.values():
            if "secret" in volume:
                keys = {item["key"] for item in volume["secret"].get("items", [])}
                assert keys <= secrets[volume["secret"]["secretName"]]
            if "configMap" in volume:
                assert volume["configMap"]["name"] in settings
        for container in [*pod["initContainers"], *pod["containers"]]:
            for variable in container.get("env", []):
                reference = variable.get("valueFrom", {}).get("secretKeyRef")
                assert reference is None or reference["key"] in secrets[reference["name"]]


def test_every_mount_has_its_volume_and_every_single_file_its_key(kubernetes: Written) -> None:
    keys = held(kubernetes, "secretGenerator")["rabbitmq"] | held(kubernetes, "configMapGenerator")["rabbitmq"]
    for name, pod in kubernetes.pods().items():
        volumes = {volume["name"] for volume in pod["volumes"]} | ({"data"} if name == "rabbitmq" else set())
        for container in [*pod["initContainers"], *pod["containers"]]:
            for mount in container.get("volumeMounts", []):
                assert mount["name"] in volumes
                assert mount.get("subPath") in {None, *keys}


def test_no_manifest_holds_a_secret(kubernetes: Written) -> None:
    assert [each["kind"] for each in kubernetes.manifests() if each["kind"] in ("Secret", "ConfigMap")] == []


def test_every_container_is_confined_and_limited(kubernetes: Written) -> None:
    for pod in kubernetes.pods().values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["automountServiceAccountToken"] is False
        for container in [*pod["initContainers"], *pod["containers"]]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]


def test_gateways_are_asked_over_http_and_the_others_whether_they_move(kubernetes: Written) -> None:
    (gateway,) = kubernetes.pods()["gateway"]["containers"]
    assert gateway["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert gateway["readinessProbe"]["httpGet"]["path"] == "/readyz"
    for name in ("worker", "doctor"):
        (container,) = kubernetes.pods()[name]["containers"]
        assert container["livenessProbe"]["exec"]["command"] == ["cauce-alive"]


def test_the_fabric_is_the_cluster_that_stands_there(kubernetes: Written) -> None:
    stateful = of_kind(kubernetes, "StatefulSet")["rabbitmq"]
    pods = [f"rabbitmq-{number}.{stateful['spec']['serviceName']}" for number in range(stateful["spec"]["replicas"])]
    assert [host for host, _ in parse(kubernetes.read("secrets/fabric")).servers] == pods
    waited = kubernetes.pods()["worker"]["initContainers"][0]["command"][1:]
    assert waited == [f"{pod}:5672" for pod in pods]


def test_headless_services_show_pods_that_are_not_ready(kubernetes: Written) -> None:
    for name, stateful in of_kind(kubernetes, "StatefulSet").items():
        service = of_kind(kubernetes, "Service")[stateful["spec"]["serviceName"]]
        assert name == service["metadata"]["name"]
        assert service["spec"]["clusterIP"] == "None"
        assert service["spec"]["publishNotReadyAddresses"] is True


def test_disks_are_as_large_as_was_asked_for(kubernetes: Written) -> None:
    (disk,) = of_kind(kubernetes, "StatefulSet")["rabbitmq"]["spec"]["volumeClaimTemplates"]
    assert disk["spec"]["resources"]["requests"]["storage"] == "20Gi"


def test_the_plugin_that_finds_peers_is_on(kubernetes: Written) -> None:
    assert "cluster_formation.peer_discovery_backend = k8s\n" in kubernetes.read("rabbitmq.conf")
    assert "rabbitmq_peer_discovery_k8s" in kubernetes.read("enabled_plugins")


def test_a_broker_that_would_ask_the_kubernetes_api_is_refused() -> None:
    with pytest.raises(UsageError, match=r"rabbitmq:4\.0 is too old for Kubernetes, which needs 4\.1"):
        check(Plan(broker_image="rabbitmq:4.0"))
