"""The files of a deployment for Kubernetes: a folder for `kubectl apply -k`. Secrets stay in files of their own."""

from __future__ import annotations

import textwrap
from pathlib import Path

from cauce.errors import UsageError
from cauce.lab.deploy import broker
from cauce.lab.deploy.certificates import Certificates
from cauce.lab.deploy.plan import BROKERS, Plan, doctor_addresses, values
from cauce.lab.deploy.rendering import names, rendered
from cauce.lab.deploy.secret import USER, Secrets
from cauce.lab.deploy.sizes import quantity
from cauce.lab.deploy.writing import File, read

SECRETS, TOKENS = "secrets", "tokens.json"
PASSWORD, COOKIE, KEY, FABRIC, LOGIN = "password", "cookie", "cluster-key", "fabric", "login.conf"
AUTHORITY, AUTHORITY_KEY, SERVER, SERVER_KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"
CA_FILE = f"/run/cauce/{AUTHORITY}"
OLDEST_BROKER = (4, 1)
"""The first version in which pods find each other by name, without access to the Kubernetes API."""
SECRET_NAMES = {
    "cauce_secret": "cauce",
    "tokens_secret": "tokens",
    "broker_secret": "rabbitmq",
    "tls_secret": "rabbitmq-tls",
    "broker_settings": "rabbitmq",
}
"""Names of the objects that kustomize generates."""
_OPERATOR = ", and the RabbitMQ Cluster Operator"


def check(plan: Plan) -> None:
    if plan.broker_version < OLDEST_BROKER and not plan.operator:
        oldest = ".".join(map(str, OLDEST_BROKER))
        raise UsageError(f"--broker-image {plan.broker_image} is too old for Kubernetes, which needs {oldest} at least")


def hosts(plan: Plan) -> list[str]:
    """The names by which processes connect to the nodes: those of the pods of a StatefulSet of ours, or of the one that
    the Cluster Operator makes for a cluster with the name `rabbitmq`."""
    pod = "rabbitmq-server-{}.rabbitmq-nodes" if plan.operator else "rabbitmq-{}.rabbitmq"
    return [pod.format(number) for number in range(BROKERS)]


def files(plan: Plan, secrets: Secrets, certificates: Certificates) -> list[File]:
    doctors = doctor_addresses([f"doctor-{number}.doctor" for number in range(1, plan.doctors + 1)])
    given: dict[str, object] = {
        **values(plan, quantity),
        "doctors": doctors,
        "broker_tls": broker.TLS_FOLDER,
        "broker_user": USER,
        "broker_endpoints": ", ".join(f'"{each}"' for each in broker.endpoints(hosts(plan))),
        "operator_needed": _OPERATOR if plan.operator else "",
        "settings": textwrap.indent(broker.operator_settings(plan), " " * 6).rstrip(),
        **SECRET_NAMES,
    }
    own = "operator" if plan.operator else "statefulset"
    found = [File(name, rendered(f"{part}/{name}", given)) for part in ("kubernetes", own) for name in names(part)]
    if not plan.operator:
        found.append(File("rabbitmq.conf", broker.settings(plan, broker.BY_ORDINAL)))
    return [*found, *secret_files(plan, secrets, certificates)]


def secret_files(plan: Plan, secrets: Secrets, certificates: Certificates) -> list[File]:
    contents = {
        PASSWORD: secrets.password,
        COOKIE: secrets.cookie,
        KEY: secrets.key,
        FABRIC: broker.address(secrets.password, hosts(plan), CA_FILE),
        LOGIN: broker.login(secrets.password),
        AUTHORITY: certificates.authority,
        AUTHORITY_KEY: certificates.authority_key,
        SERVER: certificates.server,
        SERVER_KEY: certificates.server_key,
    }
    return [File(f"{SECRETS}/{name}", content, private=True) for name, content in contents.items() if content]


def first_tokens(folder: Path) -> list[File]:
    """An empty file of tokens, unless one exists; `cauce token` adds tokens."""
    path = f"{SECRETS}/{TOKENS}"
    return [] if (folder / path).exists() else [File(path, "{}\n", private=True)]


def known(folder: Path) -> Secrets | None:
    """The secrets in existing files: the RabbitMQ cluster keeps the password of its first start."""
    texts = [_secret(folder, name) for name in (PASSWORD, COOKIE, KEY)]
    return Secrets(*texts) if all(texts) else None


def known_certificates(folder: Path) -> Certificates | None:
    found = Certificates(*(_secret(folder, name) for name in (AUTHORITY, AUTHORITY_KEY, SERVER, SERVER_KEY)))
    return found if found.authority else None


def _secret(folder: Path, name: str) -> str:
    return read(folder / SECRETS / name)
