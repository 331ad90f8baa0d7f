"""The Compose file conforms to the specification, and everything it refers to exists."""

from __future__ import annotations

import re

import jsonschema
import pytest
from check_jsonschema.builtin_schemas import get_builtin_schema

from cauce.fabric.address import parse
from tests.lab.deploy.conftest import PLAN
from tests.lab.deploy.reading import Document, Written

BROKERS = ["rabbitmq-1", "rabbitmq-2", "rabbitmq-3"]


def check(document: Document) -> None:
    jsonschema.validate(document, get_builtin_schema("vendor.compose-spec"))


def test_it_conforms_to_the_specification(compose: Written) -> None:
    check(compose.document("compose.yaml"))


def test_a_violation_of_the_specification_is_detected(compose: Written) -> None:
    document = compose.document("compose.yaml")
    document["services"]["worker"]["helthcheck"] = {}
    with pytest.raises(jsonschema.ValidationError, match="helthcheck"):
        check(document)


def test_the_numbers_of_services_are_those_of_the_plan(compose: Written) -> None:
    services = compose.services()
    gateways = [name for name in services if name.startswith("gateway")]
    doctors = [name for name in services if name.startswith("doctor")]
    assert sorted(services) == sorted([*BROKERS, *gateways, *doctors, "worker"])
    assert (len(gateways), services["worker"]["scale"], len(doctors)) == (PLAN.gateways, PLAN.workers, PLAN.doctors)


def test_every_container_has_a_health_check_limits_and_a_restart_policy(compose: Written) -> None:
    for name, service in compose.services().items():
        assert service["healthcheck"]["test"][0] == "CMD", name
        assert service["deploy"]["resources"]["limits"]["memory"].endswith("m"), name
        assert service["restart"] == "unless-stopped", name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "privileged" not in service, name


def test_processes_start_when_every_broker_listens(compose: Written) -> None:
    for process in compose.processes():
        depends = compose.services()[process.name]["depends_on"]
        assert {name: depends[name]["condition"] for name in BROKERS} == dict.fromkeys(BROKERS, "service_healthy")


def test_doctors_start_before_the_processes_they_watch(compose: Written) -> None:
    for process in compose.processes():
        depends = set(compose.services()[process.name]["depends_on"]) - set(BROKERS)
        watchers = set() if process.arguments[0] == "doctor" else {"doctor-1", "doctor-2", "doctor-3"}
        assert depends == watchers


def test_the_address_of_the_fabric_can_be_parsed(compose: Written) -> None:
    broker = parse(compose.fabric())
    assert [host for host, _ in broker.servers] == BROKERS
    assert len(broker.password) == 64
    for process in compose.processes():
        service = compose.services()[process.name]
        assert process.environment["CAUCE_FABRIC_FILE"] in {each["target"] for each in service["secrets"]}
        assert broker.tls is not None
        assert broker.tls.cafile in {each["target"] for each in service["configs"]}


def test_every_used_volume_network_secret_and_config_is_declared(compose: Written) -> None:
    document = compose.document("compose.yaml")
    used: dict[str, set[str]] = {kind: set() for kind in ("volumes", "networks", "secrets", "configs")}
    for service in document["services"].values():
        used["volumes"] |= {volume.split(":")[0] for volume in service["volumes"]}
        used["networks"] |= set(service["networks"])
        used["secrets"] |= {each["source"] for each in service["secrets"]}
        used["configs"] |= {each["source"] for each in service.get("configs", [])}
    assert {kind: set(document[kind]) for kind in used} == used
    for config in document["configs"].values():
        assert "content" in config or (compose.folder / config["file"]).is_file()


def test_every_variable_is_set_in_the_environment_file(compose: Written) -> None:
    document = compose.document("compose.yaml")
    known = {line.split("=")[0] for line in compose.read(".env").splitlines()}
    assert {each["environment"] for each in document["secrets"].values()} <= known
    assert "$" not in str(compose.services())


def test_only_gateways_are_published_and_only_on_loopback(compose: Written) -> None:
    shown = {name: service["ports"] for name, service in compose.services().items() if "ports" in service}
    assert shown == {"gateway-1": ["127.0.0.1:8080:8080"], "gateway-2": ["127.0.0.1:8081:8080"]}
    assert compose.document("compose.yaml")["networks"]["inside"] == {"internal": True}


def test_one_service_builds_the_shared_image(compose: Written) -> None:
    services = compose.services()
    assert [name for name, service in services.items() if "build" in service] == ["gateway-1"]
    assert (compose.folder / services["gateway-1"]["build"]["context"] / "Dockerfile").is_file()
    assert {services[process.name]["image"] for process in compose.processes()} == {PLAN.image}


def test_only_the_user_of_the_container_can_read_secrets(compose: Written) -> None:
    for name, service in compose.services().items():
        owner = "999" if name in BROKERS else "10001"
        for secret in service["secrets"]:
            assert (secret["uid"], secret["gid"], secret["mode"]) == (owner, owner, "0o400")


def test_containers_can_write_to_their_mounts_only(compose: Written) -> None:
    for process in compose.processes():
        service = compose.services()[process.name]
        assert service["read_only"] is True
        written = {mount.split(":")[0] for mount in service["tmpfs"]}
        written |= {volume.split(":")[1] for volume in service["volumes"]}
        assert written == {"/tmp", "/var/lib/cauce", "/var/cache/cauce"}


def test_no_variable_of_a_container_holds_a_secret(compose: Written) -> None:
    for service in compose.services().values():
        assert re.search(r"[0-9a-f]{32}|PRIVATE KEY", str(service["environment"])) is None


def test_nodes_find_their_certificate_and_key(compose: Written) -> None:
    settings = compose.read("rabbitmq.conf")
    named = dict(re.findall(r"ssl_options\.(certfile|keyfile) = (\S+)", settings))
    for name in BROKERS:
        service = compose.services()[name]
        configs = {each["target"]: each["source"] for each in service["configs"]}
        secrets = {each["target"]: each["source"] for each in service["secrets"]}
        assert configs[named["certfile"]] == "broker-certificate"
        assert secrets[named["keyfile"]] == "broker-key"
