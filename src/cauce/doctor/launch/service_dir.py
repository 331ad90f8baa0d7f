"""The service directory of a host: configuration and state that its processes need to restart by themselves.

    DIR/cluster.json           the cluster's id and key, its doctors' addresses, how processes are started here
    DIR/epoch                  the highest known epoch
    DIR/run/NAME+GENERATION   a file per live process: its pid and start time
    DIR/log/NAME.log           the log of each process

The files in `run` ensure that a generation starts at most once per host.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from cauce.doctor.messaging.envelope import Authenticator
from cauce.doctor.model.messages import Epoch, Generation, ObservedProcess, generation_of
from cauce.doctor.model.names import is_name
from cauce.doctor.model.timing import Timing
from cauce.errors import CorruptRecord, OtherVersion, UsageError
from cauce.fabric.contract import Durability
from cauce.fabric.versions import decode_json
from cauce.process.private_files import check_acting_user, create, make_directory, replace_file
from cauce.process.table import Shown, shown, start_of

LOG_BYTES = 8 << 20
LAST_BYTES = 2000
LAST_LINES = 12
MIN_KEY_BYTES = 16
VERSION = 1
"""Format version of `cluster.json` and of the whole directory, except the fabric and the tokens."""


class Cluster(msgspec.Struct, frozen=True):
    """Content of `cluster.json`. `started` holds the options of workers and gateways, opaque to doctors."""

    id: str
    key: str
    doctors: dict[str, str]
    fabric: str
    host: str = ""
    durability: Durability = "process"
    timing: Timing = Timing()
    stop_with: tuple[int, int] = (0, 0)
    """Pid and start time of a process: the service stops when it exits. (0, 0) if there is none."""
    started: msgspec.Raw = msgspec.Raw(b"{}")
    version: int = VERSION

    def authenticator(self) -> Authenticator:
        return Authenticator(self.id, bytes.fromhex(self.key))


def new_key() -> str:
    return secrets.token_hex(32)


def key_of(file: Path) -> str:
    """Derives the cluster key from the content of a file."""
    try:
        content = file.read_bytes().strip()
    except OSError as problem:
        raise UsageError(f"cannot read --key-file {file}: {problem.strerror}") from None
    if len(content) < MIN_KEY_BYTES:
        raise UsageError(f"--key-file {file} is too short; it must contain at least {MIN_KEY_BYTES} random characters")
    return blake2b(content, digest_size=32).hexdigest()


def id_of(key: str) -> str:
    """The cluster id, derived from its key."""
    return blake2b(bytes.fromhex(key), digest_size=8, person=b"cauce").hexdigest()


class ProcessEntry(msgspec.Struct, frozen=True):
    """Content of a process's file in `run`."""

    name: str
    generation: Generation
    restarts: int = 0
    pid: int = 0
    start: int = 0


def seen_of(name: str, generation: Generation, pid: int, process: Shown) -> ObservedProcess:
    return ObservedProcess(name, generation, pid, process.start, process.state, process.rss, process.cpu_s)


class ServiceDir:
    """Access to a service directory."""

    def __init__(self, folder: Path, cluster: Cluster | None = None) -> None:
        """`cluster` replaces `cluster.json`, for processes outside the service directory."""
        self._given = cluster
        self.folder = folder.resolve()
        self.run = self.folder / "run"
        self.logs = self.folder / "log"

    def create(self) -> None:
        self.create_folder()
        for folder in (self.run, self.logs):
            make_directory(folder)

    def create_folder(self) -> None:
        """Creates the directory without its subdirectories."""
        check_acting_user(self.folder)
        make_directory(self.folder)

    def cluster(self) -> Cluster:
        found = self.find_cluster()
        if found is None:
            raise UsageError(f"no service was started in {self.folder}; give its directory with --dir")
        return found

    def find_cluster(self) -> Cluster | None:
        if self._given is not None:
            return self._given
        check_acting_user(self.folder)
        try:
            data = (self.folder / "cluster.json").read_bytes()
        except FileNotFoundError:
            return None
        try:
            return decode_json(data, Cluster, VERSION, str(self.folder / "cluster.json"))
        except (CorruptRecord, OtherVersion) as problem:
            raise UsageError(str(problem)) from None

    def write_cluster(self, cluster: Cluster) -> None:
        content = msgspec.json.format(msgspec.json.encode(cluster)) + b"\n"
        replace_file(self.folder / "cluster.json", content, durable=cluster.durability == "power")

    def epoch(self) -> Epoch:
        try:
            return msgspec.json.decode((self.folder / "epoch").read_bytes(), type=Epoch)
        except (FileNotFoundError, msgspec.MsgspecError):
            return Epoch()

    def write_epoch(self, epoch: Epoch) -> None:
        if epoch > self.epoch():
            cluster = self.find_cluster()
            durable = cluster is not None and cluster.durability == "power"
            replace_file(self.folder / "epoch", msgspec.json.encode(epoch), durable=durable)

    def register(self, name: str, generation: Generation, restarts: int) -> ProcessEntry | None:
        """Registers this process; None if its generation has already been started."""
        pid = os.getpid()
        entry = ProcessEntry(name, generation, restarts, pid, start_of(pid))
        path = self._path(name, generation)
        temporary = self.run / f".{pid}"
        try:
            temporary.unlink(missing_ok=True)
            with open(create(temporary), "wb") as file:
                file.write(msgspec.json.encode(entry))
            # A link creates the file atomically, with its full content.
            os.link(temporary, path)
        except FileExistsError:
            return None
        finally:
            temporary.unlink(missing_ok=True)
        return entry

    def unregister(self, name: str, generation: Generation) -> None:
        """Removes the registration of a process."""
        with suppress(FileNotFoundError):
            self._path(name, generation).unlink()

    def entries(self) -> Iterator[ProcessEntry]:
        """All registered processes, alive or not."""
        for path in sorted(self.run.iterdir()) if self.run.is_dir() else []:
            name, plus, text = path.name.partition("+")
            if not plus or not is_name(name):
                continue
            with suppress(FileNotFoundError, msgspec.MsgspecError):
                entry = msgspec.json.decode(path.read_bytes(), type=ProcessEntry)
                if entry.generation == generation_of(text):
                    yield entry

    def running_processes(self) -> list[ObservedProcess]:
        """Registered processes that are alive. Removes the files of the others."""
        found: list[ObservedProcess] = []
        for entry in self.entries():
            process = shown(entry.pid)
            if process is None or process.start != entry.start:
                self.unregister(entry.name, entry.generation)
                continue
            found.append(seen_of(entry.name, entry.generation, entry.pid, process))
        return found

    def _path(self, name: str, generation: Generation) -> Path:
        return self.run / f"{name}+{generation}"

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def last_lines(self, name: str) -> str:
        """The end of a process's log."""
        try:
            with self.log(name).open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - LAST_BYTES, 0))
                lines = file.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join((lines[1:] if size > LAST_BYTES else lines)[-LAST_LINES:])

    def rotate_log(self, name: str) -> None:
        """Rotates the log if it is too large; keeps one old log. Lines written during the rotation may be lost. If the
        disk is full, the old log is deleted and the rotation is retried later."""
        path = self.log(name)
        old = path.with_suffix(".log.1")
        try:
            if path.stat().st_size > LOG_BYTES:
                with path.open("rb+") as file:
                    replace_file(old, file.read())
                    # The writer opened it with O_APPEND, so it continues at the new end.
                    file.truncate(0)
        except FileNotFoundError:
            return
        except OSError:
            old.unlink(missing_ok=True)
