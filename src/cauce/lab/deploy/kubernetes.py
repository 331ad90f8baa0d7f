"""The files of a deployment for Kubernetes: a folder for `kubectl apply -k`. Secrets stay in files of their own."""

from __future__ import annotations

from pathlib import Path

from cauce.errors import UsageError
from cauce.lab.deploy import broker
from cauce.lab.deploy.plan import BROKERS, Plan, doctor_addresses, values
from cauce.lab.deploy.rendering import names, rendered
from cauce.lab.deploy.secret import Secrets
from cauce.lab.deploy.sizes import quantity
from cauce.lab.deploy.writing import File

HOSTS = tuple(f"rabbitmq-{number}.rabbitmq" for number in range(BROKERS))
SECRETS, TOKENS = "secrets", "tokens.json"
PASSWORD, COOKIE, KEY, FABRIC, LOGIN = "password", "cookie", "cluster-key", "fabric", "login.conf"
OLDEST_BROKER = (4, 1)
"""The first version in which pods find each other by name, without access to the Kubernetes API."""


def check(plan: Plan) -> None:
    if plan.broker_version < OLDEST_BROKER:
        oldest = ".".join(map(str, OLDEST_BROKER))
        raise UsageError(f"--broker-image {plan.broker_image} is too old for Kubernetes, which needs {oldest} at least")


def files(plan: Plan, secrets: Secrets) -> list[File]:
    doctors = doctor_addresses([f"doctor-{number}.doctor" for number in range(1, plan.doctors + 1)])
    given = {**values(plan, quantity), "doctors": doctors}
    return [
        *(File(name, rendered(f"kubernetes/{name}", given)) for name in names("kubernetes")),
        File("rabbitmq.conf", broker.settings(plan, broker.BY_ORDINAL)),
        *_secret_files(secrets),
    ]


def _secret_files(secrets: Secrets) -> list[File]:
    contents = {
        PASSWORD: secrets.password,
        COOKIE: secrets.cookie,
        KEY: secrets.key,
        FABRIC: broker.address(secrets.password, HOSTS),
        LOGIN: broker.login(secrets.password),
    }
    return [File(f"{SECRETS}/{name}", content, private=True) for name, content in contents.items()]


def first_tokens(folder: Path) -> list[File]:
    """An empty file of tokens, unless one exists; `cauce token` adds tokens."""
    path = f"{SECRETS}/{TOKENS}"
    return [] if (folder / path).exists() else [File(path, "{}\n", private=True)]


def known(folder: Path) -> Secrets | None:
    """The secrets in existing files: the RabbitMQ cluster keeps the password of its first start."""
    try:
        return Secrets(*((folder / SECRETS / name).read_text(encoding="utf-8") for name in (PASSWORD, COOKIE, KEY)))
    except FileNotFoundError:
        return None
