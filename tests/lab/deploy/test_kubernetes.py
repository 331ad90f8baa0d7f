"""The Kubernetes manifests conform to their schemas, and everything they refer to exists."""

from __future__ import annotations

import re

import kubernetes_validate
import pytest

from cauce.errors import UsageError
from cauce.fabric.address import parse
from cauce.lab.deploy.kubernetes import check
from cauce.lab.deploy.plan import Plan
from tests.lab.deploy.conftest import PLAN
from tests.lab.deploy.reading import Document, Written

OLDEST = "1.31"
"""The first version in which the ordinals of a StatefulSet may start at 1 without a feature gate."""
VERSIONS = (OLDEST, kubernetes_validate.latest_version())


def test_the_readme_names_the_oldest_version(kubernetes: Written) -> None:
    assert f"Kubernetes {OLDEST} or newer" in kubernetes.read("README.md")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_conforms_to_its_schema(kubernetes: Written, version: str) -> None:
    for manifest in kubernetes.manifests():
        kubernetes_validate.validate(manifest, version, strict=True)


def test_a_schema_violation_is_detected(kubernetes: Written) -> None:
    (workers,) = [each for each in kubernetes.manifests() if each["metadata"]["name"] == "worker"]
    workers["spec"]["template"]["spec"]["containers"][0]["livenessProb"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="livenessProb"):
        kubernetes_validate.validate(workers, VERSIONS[0], strict=True)


def of_kind(kubernetes: Written, *kinds: str) -> dict[str, Document]:
    return {each["metadata"]["name"]: each for each in kubernetes.manifests() if each["kind"] in kinds}


def test_the_numbers_of_replicas_are_those_of_the_plan(kubernetes: Written) -> None:
    counts = {name: each["spec"]["replicas"] for name, each in of_kind(kubernetes, "Deployment", "StatefulSet").items()}
    assert counts == {"rabbitmq": 3, "gateway": PLAN.gateways, "worker": PLAN.workers, "doctor": PLAN.doctors}


def test_selectors_match_the_intended_pods(kubernetes: Written) -> None:
    workloads = of_kind(kubernetes, "Deployment", "StatefulSet")
    labels = {name: each["spec"]["template"]["metadata"]["labels"] for name, each in workloads.items()}
    for name, workload in workloads.items():
        assert workload["spec"]["selector"]["matchLabels"] == labels[name]
    for name, service in of_kind(kubernetes, "Service").items():
        assert service["spec"]["selector"] == labels[name]
    for name, budget in of_kind(kubernetes, "PodDisruptionBudget").items():
        assert budget["spec"]["selector"]["matchLabels"] == labels[name]


def test_every_file_of_the_kustomization_exists(kubernetes: Written) -> None:
    gathered = kubernetes.document("kustomization.yaml")
    generators = [*gathered["configMapGenerator"], *gathered["secretGenerator"]]
    paths = [*gathered["resources"], *(path for each in generators for path in each["files"])]
    assert [path for path in paths if not (kubernetes.folder / path).is_file()] == []


def held(kubernetes: Written, generator: str) -> dict[str, set[str]]:
    """The objects that kustomize generates: their names, with the keys in each."""
    made = kubernetes.document("kustomization.yaml")[generator]
    return {each["name"]: {_key(path) for path in each["files"]} for each in made}


def _key(file: str) -> str:
    """The key of a file in a generated object: its name, or the text before an equals sign."""
    key, equals, _ = file.partition("=")
    return key if equals else file.split("/")[-1]


def test_every_used_secret_and_config_map_is_generated(kubernetes: Written) -> None:
    secrets, settings = held(kubernetes, "secretGenerator"), held(kubernetes, "configMapGenerator")
    for pod in kubernetes.pods().values():
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for volume in volumes.values():
            if "secret" in volume:
                keys = {item["key"] for item in volume["secret"].get("items", [])}
                assert keys <= secrets[volume["secret"]["secretName"]]
                assert {item["path"] for item in volume["secret"].get("items", [])} == keys
            if "configMap" in volume:
                assert volume["configMap"]["name"] in settings
        for container in [*pod["initContainers"], *pod["containers"]]:
            assert "secretKeyRef" not in str(container.get("env"))


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


def test_gateways_are_probed_over_http_and_others_by_progress(kubernetes: Written) -> None:
    (gateway,) = kubernetes.pods()["gateway"]["containers"]
    assert gateway["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert gateway["readinessProbe"]["httpGet"]["path"] == "/readyz"
    for name in ("worker", "doctor"):
        (container,) = kubernetes.pods()[name]["containers"]
        assert container["livenessProbe"]["exec"]["command"] == ["cauce-alive"]


def test_the_fabric_is_the_deployed_cluster(kubernetes: Written) -> None:
    stateful = of_kind(kubernetes, "StatefulSet")["rabbitmq"]
    pods = [f"rabbitmq-{number}.{stateful['spec']['serviceName']}" for number in range(stateful["spec"]["replicas"])]
    assert [host for host, _ in parse(kubernetes.fabric()).servers] == pods
    waited = kubernetes.pods()["worker"]["initContainers"][0]["command"][1:]
    assert waited == [f"{pod}:5671" for pod in pods]


def test_every_process_finds_the_address_and_the_authority_of_the_fabric(kubernetes: Written) -> None:
    tls = parse(kubernetes.fabric()).tls
    assert tls is not None
    for process in kubernetes.processes():
        pod = kubernetes.pods()[process.name]
        (mount,) = [each for each in pod["containers"][0]["volumeMounts"] if each["name"] == "secrets"]
        (volume,) = [each for each in pod["volumes"] if each["name"] == "secrets"]
        paths = {f"{mount['mountPath']}/{item['path']}" for item in volume["secret"]["items"]}
        assert {process.environment["CAUCE_FABRIC_FILE"], tls.cafile} <= paths


def test_nodes_find_their_certificate_and_key(kubernetes: Written) -> None:
    pod = kubernetes.pods()["rabbitmq"]
    (mount,) = [each for each in pod["containers"][0]["volumeMounts"] if each["name"] == "tls"]
    named = re.findall(r"ssl_options\.(?:certfile|keyfile) = (\S+)", kubernetes.read("rabbitmq.conf"))
    assert {path.rpartition("/")[0] for path in named} == {mount["mountPath"]}
    assert {path.rpartition("/")[2] for path in named} == held(kubernetes, "secretGenerator")["rabbitmq-tls"]


def test_the_key_of_the_authority_stays_here(kubernetes: Written) -> None:
    assert "ca.key" not in kubernetes.read("kustomization.yaml")


def test_headless_services_show_pods_that_are_not_ready(kubernetes: Written) -> None:
    for name, stateful in of_kind(kubernetes, "StatefulSet").items():
        service = of_kind(kubernetes, "Service")[stateful["spec"]["serviceName"]]
        assert name == service["metadata"]["name"]
        assert service["spec"]["clusterIP"] == "None"
        assert service["spec"]["publishNotReadyAddresses"] is True


def test_disks_have_the_size_of_the_plan(kubernetes: Written) -> None:
    (disk,) = of_kind(kubernetes, "StatefulSet")["rabbitmq"]["spec"]["volumeClaimTemplates"]
    assert disk["spec"]["resources"]["requests"]["storage"] == "20Gi"


def test_the_peer_discovery_plugin_is_enabled(kubernetes: Written) -> None:
    assert "cluster_formation.peer_discovery_backend = k8s\n" in kubernetes.read("rabbitmq.conf")
    assert "rabbitmq_peer_discovery_k8s" in kubernetes.read("enabled_plugins")


def test_a_broker_that_needs_the_kubernetes_api_is_refused() -> None:
    with pytest.raises(UsageError, match=r"rabbitmq:4\.0 is too old for Kubernetes, which needs 4\.1"):
        check(Plan(broker_image="rabbitmq:4.0"))
