"""Entry points of the processes of a service: worker, gateway and doctor, configured by the service directory."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cauce.doctor.launch.container import IN_CONTAINER, ContainerSettings, run_in_container
from cauce.doctor.launch.service_dir import Cluster, ProcessEntry, ServiceDir
from cauce.doctor.model.names import Role
from cauce.errors import UsageError
from cauce.fabric.contract import Durability
from cauce.process.limits import one_thread_each
from cauce.process.memory_limit import MemoryBudget
from cauce.process.private_files import UMASK, claim, remove_claimed
from cauce.process.telemetry.logs import LogSettings, start_logs, use_logs
from cauce.worker.events import EXIT_OLD, SERVICE_ATTEMPTS

if TYPE_CHECKING:
    from cauce.doctor.launch.spawn import MainFunction
    from cauce.gateway.process import Place
    from cauce.gateway.settings import GatewaySettings

METRICS = "metrics"
RECORD_S = 1.0
"""How long a worker waits for the doctors to record the cause of a crash that it has found."""


class ServiceConfig(msgspec.Struct, frozen=True):
    """Configuration of gateways and workers on this host: the options that the service was started with."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 if no gateway listens on this host."""
    require_token: bool = False
    remote: bool = False
    """Whether clients need a token: the gateways can be reached from other machines, or tokens are required."""
    tls_cert: str = ""
    tls_key: str = ""
    tokens: str = ""
    datasets: list[str] = []
    allow_files: list[str] = []
    limits: list[str] = []
    power_safe: bool = False
    fabric: str = ""
    lanes: int = 1
    attempts: int = SERVICE_ATTEMPTS
    memory: int = 0
    """Of all workers of this host together, in bytes; 0: three quarters of the machine's."""
    run_id: str = msgspec.field(name="life", default="")
    """Identifies the start of the service: crashes of workers before it are not counted."""
    boxes: ContainerSettings | None = None
    """Set if workers and gateways run in containers."""
    key_file: str = ""
    """The file with the cluster's key, if it is not in the service directory."""
    log_format: str = "auto"
    log_level: str = "info"

    @property
    def durability(self) -> Durability:
        return "power" if self.power_safe else "process"

    @property
    def logs(self) -> LogSettings:
        return LogSettings(self.log_format, self.log_level)

    def address(self, folder: Path) -> str:
        """The address of the fabric. Default: files in the service directory."""
        return self.fabric or f"files:{folder.resolve()}"

    @property
    def budget(self) -> MemoryBudget:
        return MemoryBudget.of(self.memory, max(self.lanes, 1))

    def place(self) -> Place:
        from cauce.gateway.process import Place

        return Place(self.host, self.port, _path(self.tls_cert), _path(self.tls_key))

    def settings(self, folder: Path) -> GatewaySettings:
        from cauce.service.gateway_options import gateway_settings

        return gateway_settings(self, folder)


def service_config(cluster: Cluster) -> ServiceConfig:
    return msgspec.json.decode(cluster.started, type=ServiceConfig)


def private_umask() -> None:
    """Makes files private that libraries create in the service directory, such as those of the metrics."""
    os.umask(UMASK)


def make_metrics(folder: Path) -> None:
    """Creates an empty directory for the metrics. Raises a UsageError if another program's directory is there."""
    remove_metrics(folder)
    claim_metrics(folder)


def claim_metrics(folder: Path) -> None:
    # Durable always: with files but no tag after a loss of power, the service would not start.
    claim(folder / METRICS, "choose another directory with --dir", durable=True)


def remove_metrics(folder: Path) -> None:
    metrics = folder / METRICS
    remove_claimed(metrics, [path.name for path in metrics.glob("*.db")])


def prepare(folder: Path) -> None:
    """Sets up the environment before libraries are loaded. Gateways that share a port share their metrics."""
    one_thread_each()
    private_umask()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder / METRICS)


def load_all() -> None:
    """Loads all libraries that service processes need, so that forks start fast."""
    from cauce.runner.prefork import make_ready

    make_ready()


def main_functions() -> dict[Role, MainFunction]:
    return {"worker": worker_main, "gateway": gateway_main, "doctor": doctor_main}


def in_container(home: ServiceDir, entry: ProcessEntry) -> int | None:
    """Runs the process in a container and returns its exit code; None if it needs no container or is in one."""
    boxes = service_config(home.cluster()).boxes
    return run_in_container(home, entry, boxes) if boxes is not None and IN_CONTAINER not in os.environ else None


def worker_main(home: ServiceDir, entry: ProcessEntry) -> int:
    exit_code = in_container(home, entry)
    if exit_code is not None:
        return exit_code
    import time

    from cauce.datasets.registry import Registry
    from cauce.doctor.heartbeat.sender import HeartbeatSender
    from cauce.doctor.supervision.events import generation_name, recorded_cause
    from cauce.fabric.factory import open_fabric
    from cauce.process.limits import keep_memory, raise_file_limit
    from cauce.service.broker_notices import log_wrong_settings
    from cauce.worker.crash_causes import HostWitness
    from cauce.worker.process import work
    from cauce.worker.tasks.limits import Limits

    # Before the fabric is opened: the limit decides how many files it keeps open.
    raise_file_limit()
    cluster = home.cluster()
    given = service_config(cluster)
    use_logs(given.logs)
    log_wrong_settings("worker")
    keep_memory(given.budget.kept_bytes)
    limits = Limits(
        lethal_attempts=given.attempts, run_id=given.run_id or None, collected_bytes=given.budget.collected_bytes
    )
    fabric = open_fabric(cluster.fabric, cluster.durability)
    own = generation_name(entry.name, entry.generation)
    # Doctors record exits only of processes that they started.
    within_s = RECORD_S if entry.generation.epoch.number else 0.0
    witness = HostWitness(own, lambda worker: recorded_cause(fabric, worker, time.time(), within_s))
    name = entry.name.removeprefix("worker-")
    return work(fabric, name, limits, HeartbeatSender(home, entry), datasets=Registry(given.datasets), witness=witness)


def gateway_main(home: ServiceDir, entry: ProcessEntry) -> int:
    exit_code = in_container(home, entry)
    if exit_code is not None:
        return exit_code
    from cauce.doctor.heartbeat.sender import HeartbeatSender
    from cauce.gateway.process import run_gateway
    from cauce.service.broker_notices import log_wrong_settings

    given = service_config(home.cluster())
    use_logs(given.logs)
    log_wrong_settings("gateway")
    if not given.port:
        raise UsageError(f"{entry.name} has no port; start the doctor of its host with --port")
    place = replace(given.place(), shared=True)
    return run_gateway(given.settings(home.folder), place, place.bind(), lambda _: None, HeartbeatSender(home, entry))


def doctor_main(
    home: ServiceDir,
    entry: ProcessEntry,
    bound: socket.socket | None = None,
    listen: str = "",
    *,
    without_leader: bool = False,
) -> int:
    """`without_leader`: started by a process that reached no doctor, not by a leader."""
    from cauce.doctor.bind import bind_doctor
    from cauce.doctor.process import Doctor
    from cauce.gateway.metrics import forget_process
    from cauce.service.broker_notices import log_wrong_settings

    cluster = home.cluster()
    use_logs(service_config(cluster).logs)
    log = start_logs("doctor")
    log_wrong_settings("doctor")
    bound = bound or bind_doctor(home, cluster, entry.name, listen, None if without_leader else entry.generation)
    if bound is None:
        log.info("doctor already running", name=entry.name)
        return EXIT_OLD
    reserved = _reserve(service_config(cluster))

    def on_exit(role: Role, pid: int) -> None:
        if role == "gateway":
            forget_process(pid)

    code = Doctor(home, entry, main_functions(), bound, log, on_exit).run()
    if reserved is not None:
        reserved.close()
    sys.stderr.flush()
    return code


def _reserve(given: ServiceConfig) -> socket.socket | None:
    """Binds a socket without listening, which reserves the port while gateways restart."""
    if given.port:
        with suppress(UsageError):
            return replace(given.place(), shared=True).bind()
    return None


def _path(text: str) -> Path | None:
    return Path(text) if text else None
