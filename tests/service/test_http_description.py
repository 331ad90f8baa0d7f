"""The description of the service, its numbers, and its commands."""

from __future__ import annotations

import socket
import ssl
import subprocess
from pathlib import Path

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from cauce.gateway.http.app import Gateway
from cauce.gateway.settings import GatewaySettings
from cauce.process.telemetry.logs import start_logs
from tests.cli.running import cauce
from tests.service.running import Running, until

OPENSSL = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
OPENSSL += ["-addext", "subjectAltName=DNS:localhost"]


def test_the_description_is_valid(service: Running) -> None:
    # Here, since it loads for half a second, in every process that collects tests.
    from openapi_spec_validator import validate

    reply = service.get("/openapi.json")
    assert reply.headers["content-type"] == "application/json"
    validate(reply.json())


def test_every_route_is_described_and_nothing_else(service: Running, tmp_path: Path) -> None:
    described = service.get("/openapi.json").json()["paths"]
    assert isinstance(described, dict)
    gateway = Gateway(GatewaySettings(tmp_path, tmp_path / "tokens.json"), start_logs("test"))
    routes = {(path, method.lower()) for path, methods in gateway.routes.table().items() for method in methods}
    assert routes == {(path, method) for path, methods in described.items() for method in methods}


def test_responses_match_the_openapi_document(service: Running, done: str) -> None:
    """A look at some answers: their status and the names in their JSON are in the description."""
    description = service.get("/openapi.json").json()
    schemas = description["components"]["schemas"]  # type: ignore[index]
    for path, shape in ((f"/v1/jobs/{done}", "JobStatus"), (f"/v1/jobs/{done}/results/q1?limit=1", "PageBody")):
        assert set(service.get(path).json()) == set(schemas[shape]["properties"])
    assert set(service.get("/v1/jobs/none").json()) == set(schemas["Problem"]["required"])


def test_metrics_are_valid_prometheus_text(service: Running, done: str) -> None:
    def counted() -> dict[str, Metric]:
        text = service.get("/metrics").body.decode()
        return {family.name: family for family in text_string_to_metric_families(text)}

    # The end of a job is an event of whichever gateway looks at it next.
    until(
        "the end of a job is counted",
        lambda: "done" in {sample.labels["event"] for sample in counted()["cauce_job_events"].samples},
    )
    until("the job is counted", lambda: counted()["cauce_jobs"].samples[0].value >= 1)
    found = counted()
    assert sum(sample.value for sample in found["cauce_parts"].samples) >= 2
    assert sum(sample.value for sample in found["cauce_received_bytes"].samples) > 100_000
    events = {sample.labels["event"]: sample.value for sample in found["cauce_job_events"].samples}
    assert events["created"] >= 1
    assert events["done"] >= 1
    routes = {sample.labels["route"] for sample in found["cauce_requests"].samples}
    assert "/v1/jobs/{job}" in routes


def test_metrics_cover_all_gateways_on_the_port(service: Running) -> None:
    def answered() -> float:
        text = service.get("/metrics").body.decode()
        families = {family.name: family for family in text_string_to_metric_families(text)}
        return sum(
            sample.value for sample in families["cauce_requests"].samples if sample.labels.get("route") == "/healthz"
        )

    before = answered()
    for _ in range(20):
        # A connection each, so that both gateways get some.
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while connection.recv(4096):
                pass
    until("all counted", lambda: answered() >= before + 20, 10)


def test_the_log_is_json_with_the_process_and_the_job(service: Running, done: str) -> None:
    (created,) = (event for event in service.events("job created") if event["job"] == done)
    assert {"time", "level", "process", "role", "owner", "dataset"} <= set(created)
    for event in ("gateway started", "job completed", "job done"):
        assert service.events(event)


def test_a_port_in_use_is_a_usage_error(service: Running, tmp_path: Path) -> None:
    for command in ("serve", "gateway"):
        outcome = cauce(tmp_path, command, "--dir", "x", "--port", str(service.port))
        assert outcome.code == 2
        assert str(service.port) in outcome.err


@pytest.mark.parametrize(
    "options",
    [
        ["--limit", "jobs"],
        ["--limit", "jobs=0"],
        ["--limit", "nothing=1"],
        ["--tls-cert", "x.pem"],
        ["--tls-cert", "x.pem", "--tls-key", "y.pem"],
        ["--host", "no such host"],
        ["--allow-files", "nowhere"],
        ["--dataset", "nothing.py"],
    ],
)
def test_invalid_options_are_usage_errors(tmp_path: Path, options: list[str]) -> None:
    outcome = cauce(tmp_path, "gateway", "--dir", "x", "--port", "0", *options)
    assert outcome.code == 2, outcome.err
    assert "Traceback" not in outcome.err


def test_a_dataset_of_the_operators_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from cauce.plan import TEXT, Column, Dataset, Relation, Table, Text\n"
        "things = Table('things', 'things.csv', {'name': Column('name', Text())})\n"
        "dataset = Dataset('own', (things,))\n"
        "@dataset.query(name=TEXT)\n"
        "def q1() -> Relation:\n"
        "    '''Which?'''\n"
        "    return things.select('name').in_input_order()\n"
    )
    with Running(tmp_path, "serve", "--workers", "1", "--gateways", "1", "--dataset", str(tmp_path / "own.py")) as own:
        assert own.create("mine", "own").status == 201
        path = "/v1/jobs/mine/tables/things/parts/0"
        assert own.ask("PUT", path, b"name\nspade\n", {"Content-Type": "text/csv"}).status == 201
        own.complete("mine", "things", 1)
        own.wait_done("mine")
        assert own.get("/v1/jobs/mine/results/q1").body == b"name\nspade\n"


def test_tls_by_flags(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = subprocess.run(
        [*OPENSSL, "-keyout", str(key), "-out", str(certificate)],
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip("there is no openssl here to make a certificate with")
    with Running(tmp_path, "gateway", "--tls-cert", str(certificate), "--tls-key", str(key)) as gateway:
        assert gateway.url.startswith("https://")
        context = ssl.create_default_context(cafile=str(certificate))
        plain = socket.create_connection(("127.0.0.1", gateway.port))
        with context.wrap_socket(plain, server_hostname="localhost") as secure:
            secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert secure.recv(100).startswith(b"HTTP/1.1 200")
