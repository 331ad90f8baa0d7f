"""`cauce worker`, `cauce gateway` and `cauce doctor`: single processes, started by a doctor as a new program or by an
operator on any host."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import msgspec

from cauce.doctor.bind import next_generation
from cauce.doctor.launch.service_dir import Cluster, ProcessEntry, ServiceDir, id_of, key_of
from cauce.doctor.launch.spawn import run_registered
from cauce.doctor.messaging.udp import address_of
from cauce.doctor.model.messages import Generation, generation_of
from cauce.doctor.model.names import Role, check_host, host_of, name_of, role_of
from cauce.doctor.model.timing import timing_of
from cauce.errors import UsageError
from cauce.process.limits import one_thread_each
from cauce.process.table import own_pid, start_of
from cauce.process.telemetry.logs import use_logs
from cauce.service.broker_notices import log_wrong_settings
from cauce.service.entrypoints import (
    ServiceConfig,
    claim_metrics,
    doctor_main,
    load_all,
    main_functions,
    prepare,
    private_umask,
)
from cauce.service.gateway_options import checked
from cauce.terminal.console import print_line, warn_if_wide
from cauce.terminal.invocation import command

if TYPE_CHECKING:
    from cauce.doctor.heartbeat.sender import HeartbeatSender


@dataclass(frozen=True)
class ProcessIdentity:
    """Identity options of a process: `generation` is set by the doctor that starts it; `doctors` and `key_file` are
    needed if the directory has no `cluster.json`."""

    role: Role
    folder: Path
    name: str = ""
    generation: str = ""
    restarts: int = 0
    doctors: str = ""
    key_file: Path | None = None

    def check(self) -> None:
        if bool(self.doctors) != (self.key_file is not None):
            raise UsageError("--doctors and --key-file must be given together")
        if self.name and role_of(self.name) != self.role:
            raise UsageError(
                f"--name {self.name} is not the name of a {self.role}; expected {self.role}-N or {self.role}-N@HOST"
            )

    def with_key_file(self, given: ServiceConfig) -> ServiceConfig:
        """Adds the key file to the options, so that gateways refuse clients to read it."""
        return given if self.key_file is None else msgspec.structs.replace(given, key_file=str(self.key_file.resolve()))

    @property
    def host(self) -> str:
        return (host_of(self.name) if self.name else "") or host_label()

    def cluster(self, given: ServiceConfig) -> Cluster:
        assert self.key_file is not None
        key = key_of(self.key_file)
        raw = msgspec.Raw(msgspec.json.encode(given))
        fabric = given.address(self.folder)
        return Cluster(id_of(key), key, doctors_of(self.doctors), fabric, self.host, given.durability, started=raw)

    def heartbeat_sender(self, given: ServiceConfig) -> HeartbeatSender | None:
        """Heartbeats of a process that was not started by a leader; None without `doctors`."""
        from cauce.doctor.heartbeat.sender import HeartbeatSender

        if not self.doctors:
            return None
        pid = own_pid()
        name = self.name or name_of(self.role, 1, self.host)
        entry = ProcessEntry(name, Generation(launch=int(time.time() * 1000)), self.restarts, pid, start_of(pid))
        return HeartbeatSender(ServiceDir(self.folder, self.cluster(given)), entry)

    def live(self) -> int:
        """Runs a process that was started by a doctor. Returns the exit code."""
        prepare(self.folder.resolve())
        return run_registered(
            ServiceDir(self.folder),
            main_functions()[self.role],
            self.name,
            generation_of(self.generation),
            self.restarts,
        )


def gateway_alone(identity: ProcessIdentity, given: ServiceConfig, ready: Callable[[str], None]) -> int:
    identity.check()
    if identity.generation:
        return identity.live()
    one_thread_each()
    private_umask()
    from cauce.gateway.process import run_gateway

    use_logs(given.logs)
    log_wrong_settings("gateway")
    _make_home(identity.folder)
    made = checked(identity.with_key_file(given), identity.folder.resolve())
    place = made.place()
    return run_gateway(made.settings(identity.folder), place, place.bind(), ready, identity.heartbeat_sender(made))


def worker_alone(identity: ProcessIdentity, given: ServiceConfig) -> int:
    identity.check()
    if identity.generation:
        return identity.live()
    one_thread_each()
    private_umask()
    from cauce.datasets.registry import Registry
    from cauce.fabric.factory import open_fabric
    from cauce.process.limits import keep_memory, raise_file_limit
    from cauce.runner.prefork import make_ready
    from cauce.worker.process import work
    from cauce.worker.tasks.limits import Limits

    datasets = Registry(given.datasets)
    datasets.check()
    _make_home(identity.folder)
    raise_file_limit()
    make_ready()
    keep_memory(given.budget.kept_bytes)
    use_logs(given.logs)
    log_wrong_settings("worker")
    fabric = open_fabric(given.address(identity.folder), given.durability)
    name = identity.name or name_of("worker", 1, identity.host)
    limits = Limits(lethal_attempts=given.attempts, collected_bytes=given.budget.collected_bytes)

    def run() -> int:
        sender = identity.heartbeat_sender(given)
        return work(fabric, name.removeprefix("worker-"), limits, sender, datasets=datasets, interruptible=True)

    return _announced(name, identity.folder, run)


def doctor_alone(identity: ProcessIdentity, given: ServiceConfig, listen: str = "", timing: Sequence[str] = ()) -> int:
    """Runs a doctor of the service in this directory, or of the cluster given by the options."""
    identity.check()
    home = ServiceDir(identity.folder)
    prepare(home.folder)
    if identity.doctors:
        home.create()
        warn_if_wide(home.folder)
        claim_metrics(home.folder)
        cluster = identity.cluster(checked(identity.with_key_file(given), home.folder, shared=True))
        home.write_cluster(msgspec.structs.replace(cluster, timing=timing_of(list(timing))))
    cluster = home.cluster()
    name = identity.name or min(cluster.doctors)
    if name not in cluster.doctors:
        raise UsageError(f"unknown doctor {name}; expected one of {', '.join(cluster.doctors)}")
    load_all()
    chosen = generation_of(identity.generation) if identity.generation else next_generation(home)
    without_leader = not identity.generation

    def body(home: ServiceDir, entry: ProcessEntry) -> int:
        return doctor_main(home, entry, listen=listen, without_leader=without_leader)

    others = (
        f"Other processes of this service continue; stop them with: {command('stop', '--dir', str(identity.folder))}"
    )

    def run() -> int:
        return run_registered(home, body, name, chosen, identity.restarts)

    return _announced(name, identity.folder, run, others) if without_leader else run()


def _make_home(folder: Path) -> None:
    home = ServiceDir(folder)
    home.create_folder()
    warn_if_wide(home.folder)


def _announced(name: str, folder: Path, run: Callable[[], int], afterwards: str = "") -> int:
    """Runs a process started by an operator; prints a line at its start and one at its exit."""
    stopped = f"Stopped {name}. {afterwards}".rstrip()

    def exit_now(number: int, frame: FrameType | None) -> None:
        os.write(sys.stdout.fileno(), f"{stopped}\n".encode())
        os._exit(0)

    # Until the process installs its own handlers. A KeyboardInterrupt would be lost within an import.
    signal.signal(signal.SIGINT, exit_now)
    print_line(f"{name} is running (directory {folder}). Ctrl-C stops it.")
    code = run()
    print_line(stopped)
    return code


def host_label() -> str:
    """This machine's host name, reduced to the characters of a host label."""
    plain = re.sub(r"[^a-z0-9-]+", "-", socket.gethostname().partition(".")[0].lower()).strip("-")[:31]
    return check_host(plain or "host")


def doctors_of(text: str) -> dict[str, str]:
    """Parses `HOST:PORT,…` (doctor-1, doctor-2, …) or `NAME=HOST:PORT,…`."""
    found: dict[str, str] = {}
    for number, each in enumerate(filter(None, text.split(",")), 1):
        name, equals, address = each.rpartition("=")
        address_of(address)
        found[name if equals else name_of("doctor", number)] = address
    for name in found:
        if role_of(name) != "doctor":
            raise UsageError(f"--doctors: {name} is not the name of a doctor; expected doctor-N or doctor-N@HOST")
    return found
