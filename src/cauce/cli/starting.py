"""How a service begins on a host: what is desired is written down, and the first doctors are started."""

from __future__ import annotations

import os
import socket
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cauce.cli.bodies import Launching, doctor_body
from cauce.doctor.boxed import Boxes
from cauce.doctor.children import KEPT, fork
from cauce.doctor.control import wish_log
from cauce.doctor.desired import PARKED, RING, RUNNING, STAR, WATCH, Desired, count_key, hold_key
from cauce.doctor.docker import Docker
from cauce.doctor.home import Cluster, Entry, Home, id_of, new_key
from cauce.doctor.names import Role
from cauce.doctor.proc import start_of
from cauce.doctor.seat import address_of_socket, free_seats, next_incarnation
from cauce.doctor.timing import timing_of
from cauce.errors import UsageError

GATEWAYS, DOCTORS = 2, 3
_TABLES: dict[str, Role] = {"workers": "worker", "gateways": "gateway", "doctors": "doctor"}


@dataclass
class Wanted:
    """What the operator asked for; None means: as it was, or else the default."""

    workers: int | None = None
    gateways: int | None = None
    doctors: int | None = None
    watch: str | None = None
    timing: list[str] = field(default_factory=list)
    end_with: int = 0
    """A process that the service is not to outlive."""

    def check(self) -> None:
        """Raises before anything is loaded or started."""
        if self.watch not in (None, STAR, RING):
            raise UsageError(f"--watch cannot be {self.watch!r}; it can be {STAR} or {RING}")
        timing_of(self.timing)

    def counts(self) -> dict[Role, int | None]:
        return {"worker": self.workers, "gateway": self.gateways, "doctor": self.doctors}


def with_file(wanted: Wanted, file: Path | None) -> Wanted:
    """What `cluster.toml` says, where the command line says nothing."""
    if file is None:
        return wanted
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise UsageError(f"--cluster {file} cannot be read: {problem}") from None
    timing = given.pop("timing", {})
    for name, value in given.items():
        right = type(value) is (str if name == "watch" else int)
        if name not in (*_TABLES, "watch") or not right:
            raise UsageError(f"{file}: {name} = {value!r} is none; there are workers, gateways, doctors and watch")
        if getattr(wanted, name) is None:
            setattr(wanted, name, value)
    wanted.timing = [*(f"{name}={value}" for name, value in timing.items()), *wanted.timing]
    return wanted


def in_boxes(given: Launching, image: str, engine: str) -> Launching:
    """With containers, if an image is named. They see what the options name of this host."""
    if not image:
        return given
    Docker(engine)
    binds = [*given.allow_files, *(str(Path(each).parent) for each in (*given.datasets, given.tls_cert) if each)]
    return msgspec.structs.replace(given, boxes=Boxes(image, engine, [str(Path(each).resolve()) for each in binds]))


def begin(home: Home, given: Launching, wanted: Wanted) -> Cluster:
    """Writes down what is desired, and how processes are started here. Nothing runs yet."""
    if any(home.survivors()):
        raise UsageError(f"a service is already running in {home.folder}; stop it with: cauce stop --dir {home.folder}")
    before = home.find_cluster()
    key = before.key if before is not None else new_key()
    timing = timing_of(wanted.timing)
    cluster = Cluster(
        id_of(key), key, {}, given.address(home.folder), "", given.durability, timing, _guardian(wanted.end_with)
    )
    desired = _wish(cluster, wanted)
    lanes = max(desired.counts.get(("worker", ""), 0), 1)
    given = msgspec.structs.replace(given, lanes=lanes, life=f"{os.getpid()}-{time.time_ns()}")
    return msgspec.structs.replace(
        cluster,
        doctors={**dict.fromkeys(desired.doctors(), ""), **(before.doctors if before is not None else {})},
        started=msgspec.Raw(msgspec.json.encode(given)),
    )


def _guardian(pid: int) -> tuple[int, int]:
    return (pid, start_of(pid)) if pid else (0, 0)


def _wish(cluster: Cluster, wanted: Wanted) -> Desired:
    defaults: dict[Role, int] = {"worker": os.cpu_count() or 1, "gateway": GATEWAYS, "doctor": DOCTORS}
    with wish_log(cluster) as log:
        log.read(surely=True)
        known = log.wishes.desired
        wishes = {RUNNING: "yes"}
        for role, count in wanted.counts().items():
            before = known.counts.get((role, ""), defaults[role])
            wishes[count_key(role)] = str(count if count is not None else before)
        wishes[WATCH] = wanted.watch or known.watch
        # Who kept dying gets another chance; who was stopped stays so.
        wishes |= {hold_key(name): "" for name, hold in known.held.items() if hold.value == PARKED}
        log.wish(wishes, "the service was started")
        return log.wishes.desired


def start_doctors(home: Home, cluster: Cluster, names: list[str]) -> Cluster:
    """Forks them, each with its address in hand."""
    seats = free_seats(names, {name: at for name, at in cluster.doctors.items() if at})
    made = msgspec.structs.replace(cluster, doctors={name: address_of_socket(seats[name]) for name in names})
    home.write_cluster(made)
    for name, seat in seats.items():
        fork(home, _with_seat, name, next_incarnation(home), 0, kept=seat.fileno())
    for seat in seats.values():
        seat.close()
    return made


def _with_seat(home: Home, entry: Entry) -> int:
    return doctor_body(home, entry, socket.socket(fileno=KEPT))
