"""The files of a deployment for Docker Compose: one machine, all processes in containers of their own."""

from __future__ import annotations

from pathlib import Path

from cauce.deploy import broker, commands, image
from cauce.deploy.files import File
from cauce.deploy.plan import AMQP_PORT, BROKERS, HTTP_PORT, Plan
from cauce.deploy.secret import Secrets
from cauce.deploy.sizes import compose_bytes
from cauce.deploy.yaml import Map, Octal, written

HOSTS = tuple(f"rabbitmq-{number}" for number in range(1, BROKERS + 1))
ENVIRONMENT_FILE = ".env"
PASSWORD, COOKIE, KEY = "BROKER_PASSWORD", "BROKER_COOKIE", "CLUSTER_KEY"
KEY_FILE = "/run/secrets/cluster-key"
_OWNER_ONLY = Octal(0o400)
_READY = f"import urllib.request as web; web.urlopen('http://127.0.0.1:{HTTP_PORT}/readyz', timeout=3)"


def files(plan: Plan, secrets: Secrets) -> list[File]:
    return [
        File("compose.yaml", written(_project(plan), *_COMMENT)),
        File("rabbitmq.conf", broker.settings(plan, broker.by_list(HOSTS))),
        File(ENVIRONMENT_FILE, _environment(secrets), private=True),
    ]


_COMMENT = (
    "A service of Cauce with its RabbitMQ cluster, written by `cauce deploy compose`; README.md says how to run it.",
    f"Passwords and keys stand in {ENVIRONMENT_FILE}, which nobody else may read.",
)


def _environment(secrets: Secrets) -> str:
    return f"{PASSWORD}={secrets.password}\n{COOKIE}={secrets.cookie}\n{KEY}={secrets.key}\n"


def known(folder: Path) -> Secrets | None:
    """Those of an earlier writing: the RabbitMQ cluster keeps the password that it was first started with."""
    try:
        lines = (folder / ENVIRONMENT_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    names = (PASSWORD, COOKIE, KEY)
    return Secrets(*(found[name] for name in names)) if all(found.get(name) for name in names) else None


def _project(plan: Plan) -> Map:
    services: Map = {host: _broker(plan, host) for host in HOSTS}
    services |= {f"gateway-{number}": _gateway(plan, number) for number in range(1, plan.gateways + 1)}
    services |= {"worker": _worker(plan)}
    services |= {host: _doctor(plan, host) for host in _doctors(plan)}
    return {
        "name": plan.name,
        "services": services,
        "configs": {
            "broker": {"file": "./rabbitmq.conf"},
            "broker-login": {"content": broker.login(_from_environment(PASSWORD))},
        },
        "secrets": {"broker-cookie": {"environment": COOKIE}, "cluster-key": {"environment": KEY}},
        "volumes": {name: {} for name in (*HOSTS, "state", "kernels")},
        "networks": {"inside": {"internal": True}, "outside": {}},
    }


def _from_environment(name: str) -> str:
    return f"${{{name}:?it stands in {ENVIRONMENT_FILE}}}"


def _broker(plan: Plan, host: str) -> Map:
    own: Map = {"uid": str(broker.USER_ID), "gid": str(broker.USER_ID), "mode": _OWNER_ONLY}
    return {
        "image": plan.broker_image,
        "hostname": host,
        "environment": broker.ENVIRONMENT,
        "configs": [
            {"source": "broker", "target": broker.SETTINGS},
            {"source": "broker-login", "target": broker.LOGIN, **own},
        ],
        "secrets": [{"source": "broker-cookie", "target": broker.COOKIE, **own}],
        "volumes": [f"{host}:{broker.DATA}"],
        "networks": ["inside"],
        # It listens only when it has joined the cluster.
        "healthcheck": _health(["CMD", "bash", "-c", f"</dev/tcp/127.0.0.1/{AMQP_PORT}"], every_s=5, retries=12),
        "ulimits": {"nofile": 65536},
        "stop_grace_period": "60s",
        **_always(plan.broker_memory),
    }


def _gateway(plan: Plan, number: int) -> Map:
    arguments = commands.gateway(plan, _watch(plan))
    # One of the services builds the image for all.
    build: Map = {"build": {"context": f"./{image.FOLDER}"}} if number == 1 else {}
    return {
        **build,
        **_ours(plan, arguments, plan.gateway_memory),
        "volumes": [f"state:{image.STATE}", f"kernels:{image.CACHE}"],
        "networks": ["inside", "outside"],
        "ports": [f"127.0.0.1:{plan.port + number - 1}:{HTTP_PORT}"],
        "healthcheck": _health(["CMD", "python", "-c", _READY], every_s=10, retries=6),
    }


def _worker(plan: Plan) -> Map:
    return {**_ours(plan, commands.worker(_watch(plan)), plan.memory), "scale": plan.workers}


def _doctor(plan: Plan, host: str) -> Map:
    return {
        **_ours(plan, commands.doctor(host, _watch(plan)), plan.doctor_memory),
        "hostname": host,
        "depends_on": _brokers(),
    }


def _doctors(plan: Plan) -> list[str]:
    return [f"doctor-{number}" for number in range(1, plan.doctors + 1)]


def _watch(plan: Plan) -> commands.Watch:
    return commands.Watch(_doctors(plan), KEY_FILE)


def _brokers() -> Map:
    return {host: {"condition": "service_healthy"} for host in HOSTS}


def _ours(plan: Plan, arguments: list[str], memory: int) -> Map:
    own = str(image.USER_ID)
    return {
        "image": plan.image,
        "command": arguments,
        "environment": {commands.FABRIC: broker.address(_from_environment(PASSWORD), HOSTS)},
        "secrets": [{"source": "cluster-key", "target": KEY_FILE, "uid": own, "gid": own, "mode": _OWNER_ONLY}],
        "volumes": [f"kernels:{image.CACHE}"],
        "networks": ["inside"],
        # A container's name is known from its start on: that of those who watch is, before it is asked for.
        "depends_on": {**_brokers(), **{each: {"condition": "service_started"} for each in _doctors(plan)}},
        "healthcheck": _health(["CMD", image.ALIVE], every_s=10, retries=6),
        "cap_drop": ["ALL"],
        "stop_grace_period": "10s",
        **_always(memory),
    }


def _health(test: list[str], every_s: int, retries: int) -> Map:
    # At its start a container may have kernels to compile, and a node a cluster to form.
    return {"test": test, "interval": f"{every_s}s", "timeout": "5s", "retries": retries, "start_period": "120s"}


def _always(memory: int) -> Map:
    return {
        "restart": "unless-stopped",
        "security_opt": ["no-new-privileges:true"],
        "deploy": {"resources": {"limits": {"memory": compose_bytes(memory)}}},
    }
