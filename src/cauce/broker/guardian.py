"""Ends the nodes of a folder as soon as nobody uses them any more, even if all users were killed.

    python -m cauce.broker.guardian FOLDER USERS

A user holds a shared lock on the file USERS, which the kernel takes back when it dies. Must be ready before its nodes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import BinaryIO

from cauce.broker.nodes import existing
from cauce.broker.processes import launch, running

USERS = "users"
PID = "guardian.pid"


def become_user(folder: Path) -> BinaryIO:
    """Says that this process uses what is in a folder, until the file is closed or the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / USERS).open("ab")
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


def guard(folder: Path, nodes: Path) -> None:
    """Starts a guardian of the nodes, for as long as the folder has users. For users only, one at a time."""
    if guarded(folder):
        return
    command = [sys.executable, "-P", "-m", "cauce.broker.guardian", str(folder), str(nodes)]
    launch(command, os.environ, folder / "guardian.log", folder / PID)


def guarded(folder: Path) -> bool:
    """Whether a guardian waits for the last user to go."""
    return running(folder / PID, str(folder)) is not None


def main(folder: Path, nodes: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with (folder / USERS).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = existing(nodes)
        if found is not None:
            found.stop(gently=False)
        # Logs may be wanted after a failure; data of tests never is.
        for data in nodes.glob("*/data"):
            shutil.rmtree(data, ignore_errors=True)
        # Before the lock goes: who becomes a user now must see that it needs another guardian.
        (folder / PID).unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
