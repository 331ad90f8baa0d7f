"""`cauce worker`, `cauce gateway` and `cauce doctor` by themselves: started by a doctor as a new program, or by hand on
a host of their own."""

from __future__ import annotations

import re
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cauce.cli.bodies import METRICS, Launching, bodies, doctor_body, load_all, one_thread_each, prepare
from cauce.cli.invocation import command
from cauce.cli.notices import tell_in_log
from cauce.cli.settings import checked
from cauce.doctor.children import live
from cauce.doctor.home import Cluster, Entry, Home, id_of, key_of
from cauce.doctor.messages import Incarnation, incarnation_of
from cauce.doctor.names import Role, check_host, host_of, name_of, role_of
from cauce.doctor.post import address_of
from cauce.doctor.proc import own_pid, start_of
from cauce.doctor.seat import next_incarnation
from cauce.doctor.timing import timing_of
from cauce.errors import UsageError

if TYPE_CHECKING:
    from cauce.doctor.pulse import Pulse


@dataclass(frozen=True)
class Calling:
    """As whom a process was called: `incarnation` is given by a doctor that starts it; `doctors` and `key_file` where
    the folder does not tell of them."""

    role: Role
    folder: Path
    name: str = ""
    incarnation: str = ""
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

    @property
    def host(self) -> str:
        return (host_of(self.name) if self.name else "") or host_label()

    def cluster(self, given: Launching) -> Cluster:
        assert self.key_file is not None
        key = key_of(self.key_file)
        raw = msgspec.Raw(msgspec.json.encode(given))
        fabric = given.address(self.folder)
        return Cluster(id_of(key), key, doctors_of(self.doctors), fabric, self.host, given.durability, started=raw)

    def pulse(self, given: Launching) -> Pulse | None:
        """Signs of life of a guest, whom no leader has started."""
        from cauce.doctor.pulse import Pulse

        if not self.doctors:
            return None
        pid = own_pid()
        name = self.name or name_of(self.role, 1, self.host)
        entry = Entry(name, Incarnation(launch=int(time.time() * 1000)), self.restarts, pid, start_of(pid))
        return Pulse(Home(self.folder, self.cluster(given)), entry)

    def live(self) -> int:
        """The whole life of a process that a doctor wants here."""
        prepare(self.folder.resolve())
        return live(Home(self.folder), bodies()[self.role], self.name, incarnation_of(self.incarnation), self.restarts)


def gateway_alone(calling: Calling, given: Launching, ready: Callable[[str], None]) -> int:
    calling.check()
    if calling.incarnation:
        return calling.live()
    one_thread_each()
    from cauce.gateway.process import run_gateway

    tell_in_log("gateway")
    Home(calling.folder).make_folder()
    made = checked(given, calling.folder.resolve())
    place = made.place()
    return run_gateway(made.settings(calling.folder), place, place.bind(), ready, calling.pulse(made))


def worker_alone(calling: Calling, given: Launching) -> int:
    calling.check()
    if calling.incarnation:
        return calling.live()
    one_thread_each()
    from cauce.fabric.address import open_fabric
    from cauce.worker.nursery import keep_memory, make_ready
    from cauce.worker.process import work
    from cauce.worker.tasks import Limits

    Home(calling.folder).make_folder()
    make_ready()
    keep_memory()
    tell_in_log("worker")
    fabric = open_fabric(given.address(calling.folder), given.durability)
    name = calling.name or name_of("worker", 1, calling.host)
    limits = Limits(lethal_attempts=given.attempts)

    def run() -> int:
        return work(fabric, name.removeprefix("worker-"), limits, calling.pulse(given), interruptible=True)

    return _announced(name, calling.folder, run)


def doctor_alone(calling: Calling, given: Launching, listen: str = "", timing: Sequence[str] = ()) -> int:
    """Of a service that is known in its folder, or of the cluster that the options tell of."""
    calling.check()
    home = Home(calling.folder)
    prepare(home.folder)
    if calling.doctors:
        home.make()
        (home.folder / METRICS).mkdir(exist_ok=True)
        cluster = calling.cluster(checked(given, home.folder, shared=True))
        home.write_cluster(msgspec.structs.replace(cluster, timing=timing_of(list(timing))))
    cluster = home.cluster()
    name = calling.name or min(cluster.doctors)
    if name not in cluster.doctors:
        raise UsageError(f"unknown doctor {name}; expected one of {', '.join(cluster.doctors)}")
    load_all()
    chosen = incarnation_of(calling.incarnation) if calling.incarnation else next_incarnation(home)
    roused = not calling.incarnation

    def body(home: Home, entry: Entry) -> int:
        return doctor_body(home, entry, listen=listen, roused=roused)

    others = (
        f"Other processes of this service continue; stop them with: {command('stop', '--dir', str(calling.folder))}"
    )

    def run() -> int:
        return live(home, body, name, chosen, calling.restarts)

    return _announced(name, calling.folder, run, others) if roused else run()


def _announced(name: str, folder: Path, run: Callable[[], int], afterwards: str = "") -> int:
    """Runs a process that a person started, with a line at its start and one at its end."""
    try:
        _print(f"{name} is running (directory {folder}). Ctrl-C stops it.")
        code = run()
    except KeyboardInterrupt:
        # It came before the process had set its own signal handlers.
        code = 0
    _print(f"Stopped {name}. {afterwards}".rstrip())
    return code


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def host_label() -> str:
    """This machine's name, as far as it can be a label."""
    plain = re.sub(r"[^a-z0-9-]+", "-", socket.gethostname().partition(".")[0].lower()).strip("-")[:31]
    return check_host(plain or "host")


def doctors_of(text: str) -> dict[str, str]:
    """`HOST:PORT,…`, the first of which is doctor-1, or `NAME=HOST:PORT,…`."""
    found: dict[str, str] = {}
    for number, each in enumerate(filter(None, text.split(",")), 1):
        name, equals, address = each.rpartition("=")
        address_of(address)
        found[name if equals else name_of("doctor", number)] = address
    for name in found:
        if role_of(name) != "doctor":
            raise UsageError(f"--doctors: {name} is not the name of a doctor; expected doctor-N or doctor-N@HOST")
    return found
