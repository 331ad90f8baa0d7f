"""Mounts and unmounts a FUSE file system by system calls. Needs root."""

from __future__ import annotations

import ctypes
import os
import stat
from pathlib import Path

DEVICE = Path("/dev/fuse")
_DETACH = 2
_SYS_ADMIN = 21


def why_impossible() -> str | None:
    """Why this process cannot mount a FUSE file system; None if it can."""
    if not DEVICE.exists():
        return f"{DEVICE} does not exist: the kernel or the container has no FUSE"
    if os.geteuid() != 0:
        return "only root may mount a file system"
    if not _effective_capabilities() >> _SYS_ADMIN & 1:
        return "this process lacks the capability CAP_SYS_ADMIN: the container does not grant it"
    try:
        os.close(os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError as problem:
        return f"{DEVICE} cannot be opened: {problem.strerror}"
    return None


def _effective_capabilities() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))


def mount(folder: Path) -> int:
    """Mounts a file system on a folder; returns the descriptor that its requests come from."""
    fd = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    options = f"fd={fd},rootmode={stat.S_IFDIR:o},user_id={os.getuid()},group_id={os.getgid()},allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    flags = os.ST_NOSUID | os.ST_NODEV
    if libc.mount(b"cauce-power", os.fsencode(folder), b"fuse.cauce-power", flags, options.encode()) != 0:
        number = ctypes.get_errno()
        os.close(fd)
        raise OSError(number, os.strerror(number), str(folder))
    return fd


def unmount(folder: Path) -> None:
    """Also if files in it are open. Does nothing if nothing is mounted there."""
    ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(folder), _DETACH)
