"""The files of a deployment for Docker Compose: one machine, each process in its own container."""

from __future__ import annotations

from pathlib import Path

from cauce.lab.deploy import broker
from cauce.lab.deploy.certificates import Certificates
from cauce.lab.deploy.plan import BROKERS, Plan, doctor_addresses, values
from cauce.lab.deploy.rendering import rendered
from cauce.lab.deploy.secret import Secrets
from cauce.lab.deploy.sizes import compose_bytes
from cauce.lab.deploy.writing import File, read

HOSTS = tuple(f"rabbitmq-{number}" for number in range(1, BROKERS + 1))
ENVIRONMENT_FILE = ".env"
PASSWORD, COOKIE, KEY = "BROKER_PASSWORD", "BROKER_COOKIE", "CLUSTER_KEY"
FABRIC, TLS_KEY = "FABRIC", "BROKER_TLS_KEY"
AUTHORITY, AUTHORITY_KEY, SERVER = "tls/ca.crt", "tls/ca.key", "tls/tls.crt"
CA_FILE = "/run/cauce/ca.crt"


def hosts(plan: Plan) -> list[str]:
    """The names by which processes connect to the nodes."""
    return list(HOSTS)


def files(plan: Plan, secrets: Secrets, certificates: Certificates) -> list[File]:
    doctors = [f"doctor-{number}" for number in range(1, plan.doctors + 1)]
    given = {
        **values(plan, compose_bytes),
        "broker_tls": broker.TLS_FOLDER,
        "ca_file": CA_FILE,
        "doctors": doctor_addresses(doctors),
        "depends_on_doctors": "".join(f"      {each}:\n        condition: service_started\n" for each in doctors),
        "gateway_options": " ".join(f"--gateway http://127.0.0.1:{plan.port + n}" for n in range(plan.gateways)),
    }
    services = {
        "brokers": _repeated("compose/broker.yaml", given, [{"host": host} for host in HOSTS]),
        "gateway_services": _repeated("compose/gateway.yaml", given, [_gateway(plan, n) for n in range(plan.gateways)]),
        "doctor_services": _repeated("compose/doctor.yaml", given, [{"host": host} for host in doctors]),
    }
    return [
        File("compose.yaml", rendered("compose/compose.yaml", {**given, **services})),
        File("rabbitmq.conf", broker.settings(plan, broker.by_list(HOSTS))),
        File("README.md", rendered("compose/README.md", given)),
        File(AUTHORITY, certificates.authority),
        File(SERVER, certificates.server),
        *(File(AUTHORITY_KEY, key, private=True) for key in [certificates.authority_key] if key),
        File(ENVIRONMENT_FILE, _environment(secrets, certificates.server_key), private=True),
    ]


def _repeated(template: str, given: dict[str, object], each: list[dict[str, object]]) -> str:
    return "".join(rendered(template, {**given, **own}) for own in each)


def _gateway(plan: Plan, index: int) -> dict[str, object]:
    # One of the services builds the image for all.
    build = '    build:\n      context: "./image"\n' if index == 0 else ""
    return {"host": f"gateway-{index + 1}", "port": plan.port + index, "build": build}


def _environment(secrets: Secrets, server_key: str) -> str:
    held = {
        PASSWORD: secrets.password,
        COOKIE: secrets.cookie,
        KEY: secrets.key,
        FABRIC: broker.address(secrets.password, HOSTS, CA_FILE),
        # In double quotes, Compose reads it as several lines.
        TLS_KEY: '"' + server_key.replace("\n", "\\n") + '"',
    }
    return "".join(f"{name}={value}\n" for name, value in held.items())


def variables(folder: Path) -> dict[str, str]:
    """Those in the environment file, as Compose reads them; none if it does not exist."""
    lines = read(folder / ENVIRONMENT_FILE).splitlines()
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    return {name: value.strip('"').replace("\\n", "\n") for name, value in found.items()}


def known(folder: Path) -> Secrets | None:
    """The secrets in existing files: the RabbitMQ cluster keeps the password of its first start."""
    found = variables(folder)
    names = (PASSWORD, COOKIE, KEY)
    return Secrets(*(found[name] for name in names)) if all(found.get(name) for name in names) else None


def known_certificates(folder: Path) -> Certificates | None:
    authority, key, server = (read(folder / path) for path in (AUTHORITY, AUTHORITY_KEY, SERVER))
    return Certificates(authority, key, server, variables(folder).get(TLS_KEY, "")) if authority else None
