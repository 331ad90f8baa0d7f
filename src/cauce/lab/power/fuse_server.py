"""The process behind a VolatileDisk: serves the requests of the kernel, and commands on standard input.

It exits, with the content of the file system, when standard input is closed.
"""

from __future__ import annotations

import errno
import os
import random
import select
import sys
from pathlib import Path

import msgspec

from cauce.lab.power.fuse_messages import CHANGES, REQUEST_BYTES, SYNCS, Request
from cauce.lab.power.fuse_requests import RequestHandler
from cauce.lab.power.mounting import mount, unmount
from cauce.lab.power.volatile_tree import CutReport, Survivors, VolatileTree

_STDIN, _STDOUT = 0, 1


class MountCommand(msgspec.Struct, frozen=True, tag="mount"):
    """Mounts the content of the disk."""


class FreezeCommand(msgspec.Struct, frozen=True, tag="freeze"):
    """Stops answering the kernel after so many further changes, and one that is not a sync."""

    after_changes: int


class StatusCommand(msgspec.Struct, frozen=True, tag="status"):
    """Asks for the number of changes so far."""


class CutCommand(msgspec.Struct, frozen=True, tag="cut"):
    """Unmounts, and drops unsynced changes."""

    seed: int
    survivors: Survivors


Command = MountCommand | FreezeCommand | StatusCommand | CutCommand


class Status(msgspec.Struct, frozen=True):
    changes: int
    frozen: bool


class FuseServer:
    def __init__(self, folder: Path, writeback_s: float | None = None) -> None:
        self._folder = folder
        self._tree = VolatileTree(writeback_s)
        self._handler = RequestHandler(self._tree)
        self._fd: int | None = None
        self._changes = 0
        self._left: int | None = None

    def serve(self) -> None:
        """Returns when standard input is closed."""
        try:
            while True:
                reading = [_STDIN] if self._fd is None or self._left == 0 else [_STDIN, self._fd]
                ready, _, _ = select.select(reading, [], [])
                if _STDIN in ready:
                    line = sys.stdin.buffer.readline()
                    if not line:
                        return
                    answer = self._obey(msgspec.json.decode(line, type=Command))
                    os.write(_STDOUT, msgspec.json.encode(answer) + b"\n")
                elif self._fd is not None:
                    self._serve_one(self._fd)
        finally:
            self._unmount()

    def _obey(self, command: Command) -> Status | CutReport:
        match command:
            case MountCommand():
                self._handler = RequestHandler(self._tree)
                self._fd, self._left = mount(self._folder), None
            case FreezeCommand(after):
                self._left = after
            case CutCommand(seed, survivors):
                self._unmount()
                return self._tree.cut(random.Random(seed), survivors)
            case StatusCommand():
                pass
        return Status(self._changes, self._left == 0)

    def _unmount(self) -> None:
        # Closed first: that fails all requests, also those of processes that are being killed.
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)
        unmount(self._folder)

    def _serve_one(self, fd: int) -> None:
        try:
            data = os.read(fd, REQUEST_BYTES)
        except OSError as problem:
            if problem.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                return  # the request was aborted before it was read
            raise
        request = Request.decode(data)
        answer = self._handler.answer(request)
        if answer is not None:
            try:
                os.write(fd, answer)
            except OSError as problem:
                if problem.errno != errno.ENOENT:
                    raise
                # Its process was killed and does not wait for the answer.
        if request.opcode in CHANGES:
            self._changes += 1
            # The last one is not a sync: the power fails when something is unsynced.
            if self._left and (self._left > 1 or request.opcode not in SYNCS):
                self._left -= 1


if __name__ == "__main__":
    FuseServer(Path(sys.argv[1]), *map(float, sys.argv[2:])).serve()
