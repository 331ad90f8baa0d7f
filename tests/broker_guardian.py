"""Stops the nodes of a folder when the last process that uses them exits, even if it was killed.

    python tests/broker_guardian.py FOLDER NODES

A user holds a shared lock on the file USERS, which the kernel releases when it exits. Start it before its nodes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import BinaryIO

from cauce.lab.broker.nodes import existing
from cauce.lab.broker.processes import launch, running
from cauce.process.private_files import FILE_MODE, make_directory

USERS = "users"
PID = "guardian.pid"


def become_user(folder: Path) -> BinaryIO:
    """Registers this process as a user of a folder, until the file is closed or the process exits."""
    make_directory(folder)
    file = open(os.open(folder / USERS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, FILE_MODE), "ab")  # noqa: SIM115
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


def guard(folder: Path, nodes: Path) -> None:
    """Starts a guardian of the nodes, unless one runs. Only a user may call this, one at a time."""
    if guarded(folder):
        return
    command = [sys.executable, __file__, str(folder), str(nodes)]
    launch(command, os.environ, folder / "guardian.log", folder / PID)


def guarded(folder: Path) -> bool:
    """Whether a guardian runs and waits for the last user."""
    return running(folder / PID, str(folder)) is not None


def main(folder: Path, nodes: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with (folder / USERS).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = existing(nodes)
        if found is not None:
            found.stop(gently=False)
            # Logs help after a failure; the data of tests is never needed again.
            for name in found.names:
                shutil.rmtree(found.place.of(found.node(name)) / "data", ignore_errors=True)
        # Before the lock is released: a new user must see that it needs another guardian.
        (folder / PID).unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
