"""The files of a deployment for Docker Compose: one machine, each process in its own container."""

from __future__ import annotations

from pathlib import Path

from cauce.lab.deploy import broker
from cauce.lab.deploy.plan import BROKERS, Plan, doctor_addresses, values
from cauce.lab.deploy.rendering import rendered
from cauce.lab.deploy.secret import Secrets
from cauce.lab.deploy.sizes import compose_bytes
from cauce.lab.deploy.writing import File

HOSTS = tuple(f"rabbitmq-{number}" for number in range(1, BROKERS + 1))
ENVIRONMENT_FILE = ".env"
PASSWORD, COOKIE, KEY = "BROKER_PASSWORD", "BROKER_COOKIE", "CLUSTER_KEY"


def files(plan: Plan, secrets: Secrets) -> list[File]:
    doctors = [f"doctor-{number}" for number in range(1, plan.doctors + 1)]
    given = {
        **values(plan, compose_bytes),
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
        File(ENVIRONMENT_FILE, _environment(secrets), private=True),
    ]


def _repeated(template: str, given: dict[str, object], each: list[dict[str, object]]) -> str:
    return "".join(rendered(template, {**given, **own}) for own in each)


def _gateway(plan: Plan, index: int) -> dict[str, object]:
    # One of the services builds the image for all.
    build = '    build:\n      context: "./image"\n' if index == 0 else ""
    return {"host": f"gateway-{index + 1}", "port": plan.port + index, "build": build}


def _environment(secrets: Secrets) -> str:
    return f"{PASSWORD}={secrets.password}\n{COOKIE}={secrets.cookie}\n{KEY}={secrets.key}\n"


def known(folder: Path) -> Secrets | None:
    """The secrets in existing files: the RabbitMQ cluster keeps the password of its first start."""
    try:
        lines = (folder / ENVIRONMENT_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    names = (PASSWORD, COOKIE, KEY)
    return Secrets(*(found[name] for name in names)) if all(found.get(name) for name in names) else None
