"""The folder in which a host keeps what its part of the cluster needs to come back by itself.

    DIR/cluster.json      the cluster's id and key, its doctors' addresses, how processes are started here
    DIR/epoch             the latest epoch heard of
    DIR/run/NAME+LIFE     a file for each living process: its pid and the time of its start
    DIR/log/NAME.log      what each says

The files in `run` make sure that an incarnation begins once on a host.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from cauce.doctor.messages import Epoch, Incarnation, Seen, incarnation_of
from cauce.doctor.names import is_name
from cauce.doctor.proc import Shown, shown, start_of
from cauce.doctor.seal import Sealer
from cauce.doctor.timing import Timing
from cauce.errors import UsageError
from cauce.fabric.contract import Durability

LOG_BYTES = 8 << 20
LAST_BYTES = 2000
LAST_LINES = 12
MIN_KEY_BYTES = 16


class Cluster(msgspec.Struct, frozen=True):
    """`started` is what the program above needs to start workers and gateways here; doctors do not look into it."""

    id: str
    key: str
    doctors: dict[str, str]
    fabric: str
    host: str = ""
    durability: Durability = "process"
    timing: Timing = Timing()
    guardian: tuple[int, int] = (0, 0)
    """Pid and start of a process that the service is not to outlive, if there is one."""
    started: msgspec.Raw = msgspec.Raw(b"{}")

    def sealer(self) -> Sealer:
        return Sealer(self.id, bytes.fromhex(self.key))


def new_key() -> str:
    return secrets.token_hex(32)


def key_of(file: Path) -> str:
    """The key that a file stands for, whatever it holds."""
    try:
        content = file.read_bytes().strip()
    except OSError as problem:
        raise UsageError(f"--key-file {file} cannot be read: {problem.strerror}") from None
    if len(content) < MIN_KEY_BYTES:
        raise UsageError(f"--key-file {file} is too short for a key: let it hold {MIN_KEY_BYTES} random characters")
    return blake2b(content, digest_size=32).hexdigest()


def id_of(key: str) -> str:
    """The name of a cluster: who has its key knows it."""
    return blake2b(bytes.fromhex(key), digest_size=8, person=b"cauce").hexdigest()


class Entry(msgspec.Struct, frozen=True):
    """A process as its file in `run` tells of it."""

    name: str
    incarnation: Incarnation
    restarts: int = 0
    pid: int = 0
    start: int = 0


def seen_of(name: str, incarnation: Incarnation, pid: int, process: Shown) -> Seen:
    return Seen(name, incarnation, pid, process.start, process.state, process.rss, process.cpu_s)


class Home:
    def __init__(self, folder: Path, cluster: Cluster | None = None) -> None:
        """`cluster` is given where the folder does not tell of it: by who only visits."""
        self._given = cluster
        self.folder = folder.resolve()
        self.run = self.folder / "run"
        self.logs = self.folder / "log"

    def make(self) -> None:
        for folder in (self.folder, self.run, self.logs):
            _make(folder)

    def make_folder(self) -> None:
        """For who needs no more than the folder itself."""
        _make(self.folder)

    def cluster(self) -> Cluster:
        found = self.find_cluster()
        if found is None:
            raise UsageError(f"no service was started in {self.folder}; give its directory with --dir")
        return found

    def find_cluster(self) -> Cluster | None:
        if self._given is not None:
            return self._given
        try:
            return msgspec.json.decode((self.folder / "cluster.json").read_bytes(), type=Cluster)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as problem:
            raise UsageError(f"{self.folder / 'cluster.json'} cannot be read: {problem}") from None

    def write_cluster(self, cluster: Cluster) -> None:
        self._replace("cluster.json", msgspec.json.format(msgspec.json.encode(cluster)) + b"\n")

    def epoch(self) -> Epoch:
        try:
            return msgspec.json.decode((self.folder / "epoch").read_bytes(), type=Epoch)
        except (FileNotFoundError, msgspec.MsgspecError):
            return Epoch()

    def write_epoch(self, epoch: Epoch) -> None:
        if epoch > self.epoch():
            self._replace("epoch", msgspec.json.encode(epoch))

    def _replace(self, name: str, data: bytes) -> None:
        aside = self.folder / f".{name}.{os.getpid()}"
        fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "wb") as file:
            file.write(data)
        os.replace(aside, self.folder / name)

    def begin(self, name: str, incarnation: Incarnation, restarts: int) -> Entry | None:
        """Puts this process on record; None if the incarnation has begun already."""
        pid = os.getpid()
        entry = Entry(name, incarnation, restarts, pid, start_of(pid))
        path = self._path(name, incarnation)
        aside = self.run / f".{pid}"
        aside.write_bytes(msgspec.json.encode(entry))
        try:
            # A link, so that the file is there with all its content or not at all.
            os.link(aside, path)
        except FileExistsError:
            return None
        finally:
            aside.unlink()
        return entry

    def end(self, name: str, incarnation: Incarnation) -> None:
        with suppress(FileNotFoundError):
            self._path(name, incarnation).unlink()

    def entries(self) -> Iterator[Entry]:
        """Of all processes on record, dead or alive."""
        for path in sorted(self.run.iterdir()) if self.run.is_dir() else []:
            name, plus, text = path.name.partition("+")
            if not plus or not is_name(name):
                continue
            with suppress(FileNotFoundError, msgspec.MsgspecError):
                entry = msgspec.json.decode(path.read_bytes(), type=Entry)
                if entry.incarnation == incarnation_of(text):
                    yield entry

    def survivors(self) -> list[Seen]:
        """Those on record that live. Files of the dead are removed."""
        found: list[Seen] = []
        for entry in self.entries():
            process = shown(entry.pid)
            if process is None or process.start != entry.start:
                self.end(entry.name, entry.incarnation)
                continue
            found.append(seen_of(entry.name, entry.incarnation, entry.pid, process))
        return found

    def _path(self, name: str, incarnation: Incarnation) -> Path:
        return self.run / f"{name}+{incarnation}"

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def last_lines(self, name: str) -> str:
        """The end of a process's log."""
        try:
            with self.log(name).open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - LAST_BYTES, 0))
                lines = file.read().decode(errors="replace").splitlines()
        except FileNotFoundError:
            return ""
        return "\n".join((lines[1:] if size > LAST_BYTES else lines)[-LAST_LINES:])

    def bound_log(self, name: str) -> None:
        """Keeps one old log beside the present one. What is written in the moment of the change may be lost."""
        path = self.log(name)
        with suppress(FileNotFoundError):
            if path.stat().st_size > LOG_BYTES:
                old = path.with_suffix(".log.1")
                with path.open("rb+") as file:
                    old.write_bytes(file.read())
                    # Its writer appends: it goes on at the new end.
                    file.truncate(0)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"{folder} cannot be a folder: a file is in the way") from None
