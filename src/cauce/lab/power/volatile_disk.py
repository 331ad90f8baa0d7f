"""A mounted file system that loses unsynced data in a power cut, and a machine whose processes die with it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TypeVar

import msgspec

from cauce.errors import UsageError
from cauce.lab.power.fuse_server import Command, CutCommand, FreezeCommand, MountCommand, Status, StatusCommand
from cauce.lab.power.mounting import unmount, why_impossible
from cauce.lab.power.volatile_tree import CutReport, Survivors
from cauce.process.starting import module_command
from cauce.process.table import children_of, send_signal_to_pid

Answer = TypeVar("Answer")

_LOOK_S = 0.002
_DEATH_S = 30.0


class VolatileDisk:
    """Served by a process of its own: this one may map files of it into memory, and would wait for itself. With
    `writeback_s` it loses no names, and no content that is older."""

    def __init__(self, folder: Path, writeback_s: float | None = None) -> None:
        reason = why_impossible()
        if reason is not None:
            raise UsageError(f"cannot mount a file system for power cuts: {reason}")
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        command = module_command(
            "cauce.lab.power.fuse_server", str(folder), *([] if writeback_s is None else [str(writeback_s)])
        )
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self.mount()

    def __enter__(self) -> VolatileDisk:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def mount(self) -> None:
        self._ask(MountCommand(), Status)

    def status(self) -> Status:
        return self._ask(StatusCommand(), Status)

    def freeze_after(self, changes: int) -> None:
        """All requests of processes wait after so many further changes, until the power is cut."""
        self._ask(FreezeCommand(changes), Status)

    def cut(self, seed: int, survivors: Survivors = "none") -> CutReport:
        """Unmounts the file system and drops unsynced changes. Mount it again to see the rest."""
        return self._ask(CutCommand(seed, survivors), CutReport)

    def _ask(self, command: Command, kind: type[Answer]) -> Answer:
        stdin, stdout = self._server.stdin, self._server.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(msgspec.json.encode(command) + b"\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise ChildProcessError(f"the file system's process exited with code {self._server.wait()}")
        return msgspec.json.decode(line, type=kind)

    def close(self) -> None:
        for pipe in (self._server.stdin, self._server.stdout):
            if pipe is not None:
                pipe.close()
        self._server.wait()
        unmount(self.folder)


class Machine:
    """A command and all its descendants, in a process namespace of their own: they are killed at once."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        stdout: IO[bytes] | int | None = subprocess.DEVNULL,
        stderr: IO[bytes] | int | None = None,
    ) -> None:
        # The shell is the first process of the namespace and reaps orphans.
        isolated = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh"]
        self.process = subprocess.Popen([*isolated, *command], env=environment, stdout=stdout, stderr=stderr)

    def poll(self) -> int | None:
        return self.process.poll()

    def cut_power(self, disk: VolatileDisk, seed: int, survivors: Survivors) -> CutReport:
        """Kills all processes, then drops the unsynced changes; the disk is mounted again."""
        self._kill()
        report = disk.cut(seed, survivors)
        # Only now: a process that waits for the file system ends when that is unmounted.
        self.process.wait(_DEATH_S)
        disk.mount()
        return report

    def stop(self) -> None:
        if self.process.poll() is None:
            self._kill()
            self.process.wait(_DEATH_S)

    def _kill(self) -> None:
        """Kills all processes; `unshare` waits for their end. Each is sent the signal here: the kernel kills those of a
        namespace only when its first process exits, and until then they would see a disk that fails."""
        deadline = time.monotonic() + _DEATH_S
        while self.process.poll() is None and not children_of(self.process.pid) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        killed: set[int] = set()
        while fresh := _descendants(self.process.pid) - killed:
            for pid in fresh:
                send_signal_to_pid(pid, signal.SIGKILL)
            killed |= fresh


def _descendants(root: int) -> set[int]:
    found: set[int] = set()
    waiting = [root]
    while waiting:
        children = children_of(waiting.pop())
        found.update(children)
        waiting += children
    return found
