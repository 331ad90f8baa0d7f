"""The Helm chart gives the same objects as the manifests for Kubernetes, with the values of the plan and with others.

Helm itself renders it where the package `helm-python-sdk` is installed, which binds Helm's own engine.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from cauce.lab.deploy.broker import BY_ORDINAL, settings
from cauce.lab.deploy.plan import doctor_addresses
from tests.lab.deploy.conftest import PLAN
from tests.lab.deploy.reading import Document, Written
from tests.lab.deploy.test_kubernetes import VERSIONS

VALUE = re.compile(r"\{\{ \.Values\.([\w.]+) \}\}")
INCLUDED = re.compile(r'\{\{ include "cauce\.(\w+)" \. \}\}')
SETTINGS_NAME = "rabbitmq-0123456789"
Named = dict[tuple[str, str], Document]


def values_of(helm: Path) -> dict[str, Any]:
    return dict(yaml.safe_load((helm / "chart/values.yaml").read_text()))


def value(values: dict[str, Any], path: str) -> Any:
    for name in path.split("."):
        values = values[name]
    return values


def substituted(helm: Path, name: str) -> list[Document]:
    """The objects of a template that has only values and our own definitions."""
    values = values_of(helm)
    included = {
        "doctors": doctor_addresses([f"doctor-{number}.doctor" for number in range(1, PLAN.doctors + 1)]),
        "endpoints": ", ".join(f'"{each}"' for each in values["broker"]["endpoints"]),
        "settingsName": SETTINGS_NAME,
    }
    text = (helm / "chart/templates" / name).read_text()
    text = re.sub(r"^\{\{- (if .*|end) \}\}$", "", text, flags=re.M)
    text = VALUE.sub(lambda found: str(value(values, found[1])), text)
    text = INCLUDED.sub(lambda found: included[found[1]], text)
    assert "{{" not in text
    return [each for each in yaml.safe_load_all(text) if each]


def by_name(documents: list[Document]) -> Named:
    return {(each["kind"], each["metadata"]["name"]): each for each in documents}


def of_kustomize(kubernetes: Written, settings_name: str) -> Named:
    """The objects of the manifests, with the name of the settings that Helm gives them."""
    found = [each for each in kubernetes.manifests() if each["kind"] != "Namespace"]
    text = yaml.safe_dump_all(found).replace(
        "configMap:\n          name: rabbitmq\n", f"configMap:\n          name: {settings_name}\n"
    )
    return by_name(list(yaml.safe_load_all(text)))


def test_objects_are_those_of_the_manifests(helm: Path, kubernetes: Written) -> None:
    files = ("gateways.yaml", "workers.yaml", "doctors.yaml", "network.yaml", "broker.yaml")
    found = by_name([each for name in files for each in substituted(helm, name)])
    assert found == of_kustomize(kubernetes, SETTINGS_NAME)


def test_settings_of_rabbitmq_are_those_of_the_manifests(helm: Path, kubernetes: Written) -> None:
    text = (helm / "chart/templates/_settings.tpl").read_text()
    text = text.removeprefix('{{- define "cauce.settings" -}}\n').removesuffix("{{- end -}}\n")
    text = text.replace('{{ include "cauce.memoryLimit" . }}', str(PLAN.broker_memory * 60 // 100))
    text = text.replace('{{ include "cauce.diskLimit" . }}', str(PLAN.storage // 20))
    assert text == settings(PLAN, BY_ORDINAL) == kubernetes.read("rabbitmq.conf")


def test_values_conform_to_the_schema_and_unknown_ones_do_not(helm: Path) -> None:
    schema = json.loads((helm / "chart/values.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(values_of(helm), schema)
    for wrong in ({"sugar": 1}, {"image": ""}, {"workers": {"replicas": "many", "memory": "2Gi"}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**values_of(helm), **wrong}, schema)


def test_every_value_is_used(helm: Path) -> None:
    texts = "".join(path.read_text() for path in (helm / "chart/templates").iterdir())
    used = set(re.findall(r"\.Values\.([\w.]+)", texts))
    values = values_of(helm)
    known = {f"{name}.{inner}" if isinstance(value, dict) else name
             for name, value in values.items() for inner in (value if isinstance(value, dict) else [""])}  # fmt: skip
    assert used == known


def test_chart_holds_no_secret(helm: Path) -> None:
    secrets = {path.read_text().strip() for path in (helm / "secrets").iterdir() if path.name != "tokens.json"}
    texts = "".join(path.read_text() for path in (helm / "chart").rglob("*") if path.is_file())
    assert [secret for secret in secrets if secret in texts] == []


def test_commands_of_the_readme_create_every_secret_with_its_keys(helm: Path) -> None:
    readme = (helm / "README.md").read_text()
    made = {found[0]: set(re.findall(r"secrets/([\w.-]+)", found[1]))
            for found in re.findall(r"create secret (?:generic|tls) (\S+) (.*)", readme)}  # fmt: skip
    assert set(made) == set(values_of(helm)["secrets"].values())
    assert all((helm / "secrets" / key).is_file() for keys in made.values() for key in keys)
    assert made["cauce"] == {"fabric", "cluster-key", "ca.crt"}
    assert made["rabbitmq"] == {"cookie", "login.conf"}


def rendered(helm: Path, **values: Any) -> Named:
    chart = pytest.importorskip("helm_python.chart", reason="helm-python-sdk, which renders as Helm does, is missing")
    with chart.Chart.load(helm / "chart") as loaded:
        texts = loaded.render(values, name="release", namespace="cauce")
    documents = [each for name, text in texts.items() if name.endswith(".yaml") for each in yaml.safe_load_all(text)]
    return by_name([each for each in documents if each])


@pytest.mark.soak
def test_helm_renders_the_objects_of_the_manifests(helm: Path, kubernetes: Written) -> None:
    found = rendered(helm)
    (name,) = [name for kind, name in found if kind == "ConfigMap"]
    config = found.pop(("ConfigMap", name))
    assert found == of_kustomize(kubernetes, name)
    assert config["data"]["rabbitmq.conf"].rstrip() == kubernetes.read("rabbitmq.conf").rstrip()
    assert config["data"]["enabled_plugins"].strip() == kubernetes.read("enabled_plugins").strip()


@pytest.mark.soak
@pytest.mark.parametrize("version", VERSIONS)
def test_objects_that_helm_renders_conform_to_their_schemas(version: str, helm: Path) -> None:
    ingress = {
        "enabled": True,
        "host": "cauce.example",
        "tlsSecret": "web",
        "className": "nginx",
        "annotations": {"a": "b"},
    }
    for document in rendered(helm, ingress=ingress).values():
        kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.soak
def test_helm_applies_values(helm: Path) -> None:
    found = rendered(
        helm,
        image="other:2",
        workers={"replicas": 9, "memory": "3Gi"},
        doctors={"replicas": 5},
        broker={"memory": "1Gi", "storage": "4Gi"},
        secrets={"cauce": "vaulted"},
    )
    worker = found["Deployment", "worker"]["spec"]
    (container,) = worker["template"]["spec"]["containers"]
    assert (worker["replicas"], container["image"]) == (9, "other:2")
    assert container["resources"]["limits"]["memory"] == "3Gi"
    assert any("doctor-5@doctor-5=doctor-5.doctor:7700" in each for each in container["args"])
    volumes = {each["name"]: each for each in worker["template"]["spec"]["volumes"]}
    assert volumes["secrets"]["secret"]["secretName"] == "vaulted"
    (config,) = [each for (kind, _), each in found.items() if kind == "ConfigMap"]
    assert f"vm_memory_high_watermark.absolute = {2**30 * 60 // 100}\n" in config["data"]["rabbitmq.conf"]
    assert f"disk_free_limit.absolute = {512 * 2**20}\n" in config["data"]["rabbitmq.conf"]


@pytest.mark.soak
def test_helm_leaves_out_rabbitmq(helm: Path) -> None:
    found = rendered(helm, broker={"enabled": False, "endpoints": ["mq.example:5671"]})
    assert not [name for _, name in found if name.startswith("rabbitmq")]
    waiting = found["Deployment", "worker"]["spec"]["template"]["spec"]["initContainers"][0]["command"]
    assert waiting == ["cauce-wait", "mq.example:5671"]


@pytest.mark.soak
def test_helm_refuses_wrong_values(helm: Path) -> None:
    errors = pytest.importorskip("helm_python.errors")
    for wrong in ({"sugar": 1}, {"workers": {"replicas": 0}}, {"ingress": {"enabled": True}}):
        with pytest.raises(errors.HelmError):
            rendered(helm, **wrong)
