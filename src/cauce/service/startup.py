"""Starts a service on a host: records the desired state and forks the first doctors."""

from __future__ import annotations

import os
import socket
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cauce.doctor.bind import address_of_socket, bind_doctors, next_generation
from cauce.doctor.control import open_desired_state_log
from cauce.doctor.launch.container import ContainerSettings
from cauce.doctor.launch.docker import Docker
from cauce.doctor.launch.service_dir import Cluster, ProcessEntry, ServiceDir, id_of, new_key
from cauce.doctor.launch.spawn import INHERITED_FD, fork
from cauce.doctor.model.desired_state import RING, RUNNING, STAR, WATCH, DesiredState, count_key
from cauce.doctor.model.names import Role
from cauce.doctor.model.timing import timing_of
from cauce.errors import UsageError
from cauce.fabric.address import folder_of, named_files
from cauce.process.limits import cores
from cauce.process.table import start_of
from cauce.service.entrypoints import ServiceConfig, doctor_main
from cauce.terminal.invocation import command

GATEWAYS, DOCTORS = 2, 3
_TABLES: dict[str, Role] = {"workers": "worker", "gateways": "gateway", "doctors": "doctor"}


@dataclass
class ServiceSize:
    """Requested size and mode of the service. None means: unchanged, or the default for a new service."""

    workers: int | None = None
    gateways: int | None = None
    doctors: int | None = None
    watch: str | None = None
    timing: list[str] = field(default_factory=list)
    end_with: int = 0
    """Pid of a process: the service stops when it exits."""

    def check(self) -> None:
        """Raises a UsageError, before anything is loaded or started."""
        if self.watch not in (None, STAR, RING):
            raise UsageError(f"unknown --watch {self.watch}; expected {STAR} or {RING}")
        timing_of(self.timing)

    def over(self, others: ServiceSize) -> ServiceSize:
        """These settings, and where they have none, the `others`."""
        for name in ("workers", "gateways", "doctors", "watch"):
            if getattr(self, name) is None:
                setattr(self, name, getattr(others, name))
        self.timing = [*others.timing, *self.timing]
        return self

    def counts(self) -> dict[Role, int | None]:
        return {"worker": self.workers, "gateway": self.gateways, "doctor": self.doctors}


def with_file(wanted: ServiceSize, file: Path | None) -> ServiceSize:
    """Adds settings of `cluster.toml` that the command line does not set."""
    if file is None:
        return wanted
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise UsageError(f"cannot read --cluster {file}: {problem}") from None
    timing = given.pop("timing", {})
    for name, value in given.items():
        right = type(value) is (str if name == "watch" else int)
        if name not in (*_TABLES, "watch") or not right:
            raise UsageError(
                f"{file}: invalid setting {name} = {value!r}; expected workers, gateways, doctors or watch"
            )
        if getattr(wanted, name) is None:
            setattr(wanted, name, value)
    wanted.timing = [*(f"{name}={value}" for name, value in timing.items()), *wanted.timing]
    return wanted


def in_containers(given: ServiceConfig, image: str, engine: str) -> ServiceConfig:
    """Configures containers, if an image is given. They see only paths named by the options, and can write only to the
    directory of a files fabric."""
    if not image:
        return given
    Docker(engine)
    files = (*given.datasets, given.tls_cert, given.tls_key, given.tokens, *named_files(given.fabric))
    # Mount directories, not files: a mounted file would not show an atomic replacement.
    binds = [*given.allow_files, *(str(Path(each).absolute().parent) for each in files if each)]
    root = folder_of(given.fabric) if given.fabric else None
    writable = [str(root)] if root is not None else []
    boxes = ContainerSettings(image, engine, [str(Path(each).resolve()) for each in binds], writable=writable)
    return msgspec.structs.replace(given, boxes=boxes)


def check_not_running(home: ServiceDir) -> None:
    if any(home.running_processes()):
        raise UsageError(
            f"a service is already running in {home.folder}; stop it with: {command('stop', '--dir', str(home.folder))}"
        )


def configure(home: ServiceDir, given: ServiceConfig, wanted: ServiceSize) -> Cluster:
    """Records the desired state and returns the configuration of the cluster. Starts nothing."""
    check_not_running(home)
    before = home.find_cluster()
    key = before.key if before is not None else new_key()
    timing = timing_of(wanted.timing)
    cluster = Cluster(
        id_of(key), key, {}, given.address(home.folder), "", given.durability, timing, _stop_with(wanted.end_with)
    )
    desired = _update_desired_state(cluster, wanted)
    lanes = max(desired.counts.get(("worker", ""), 0), 1)
    given = msgspec.structs.replace(given, lanes=lanes, run_id=f"{os.getpid()}-{time.time_ns()}")
    return msgspec.structs.replace(
        cluster,
        doctors={**dict.fromkeys(desired.doctors(), ""), **(before.doctors if before is not None else {})},
        started=msgspec.Raw(msgspec.json.encode(given)),
    )


def _stop_with(pid: int) -> tuple[int, int]:
    return (pid, start_of(pid)) if pid else (0, 0)


def _update_desired_state(cluster: Cluster, wanted: ServiceSize) -> DesiredState:
    defaults: dict[Role, int] = {"worker": cores(), "gateway": GATEWAYS, "doctor": DOCTORS}
    with open_desired_state_log(cluster) as log:
        log.read(consistent=True)
        known = log.desired.state
        entries = {RUNNING: "yes"}
        for role, count in wanted.counts().items():
            before = known.counts.get((role, ""), defaults[role])
            entries[count_key(role)] = str(count if count is not None else before)
        entries[WATCH] = wanted.watch or known.watch
        log.update(entries, "the service was started")
        return log.desired.state


def start_doctors(home: ServiceDir, cluster: Cluster, names: list[str]) -> Cluster:
    """Binds an address for each doctor, writes `cluster.json` and forks the doctors."""
    sockets = bind_doctors(names, {name: at for name, at in cluster.doctors.items() if at})
    made = msgspec.structs.replace(cluster, doctors={name: address_of_socket(sockets[name]) for name in names})
    home.write_cluster(made)
    for name, bound in sockets.items():
        fork(home, _with_socket, name, next_generation(home), 0, inherited_fd=bound.fileno())
    for bound in sockets.values():
        bound.close()
    return made


def _with_socket(home: ServiceDir, entry: ProcessEntry) -> int:
    return doctor_main(home, entry, socket.socket(fileno=INHERITED_FD))
