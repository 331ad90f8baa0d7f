"""Limits of this process: open files, threads of libraries, processor cores."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource

OPEN_FILES = 65_536
"""Upper bound that a process requests: some systems allow a billion, and some libraries loop over all of them."""


def raise_file_limit() -> int:
    """Raises the soft limit of open files towards the hard limit, never beyond it. Returns the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return file_limit()
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def file_limit() -> int:
    """How many files this process may have open now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return OPEN_FILES if soft == resource.RLIM_INFINITY else min(soft, OPEN_FILES)


def cores() -> int:
    """The number of processor cores; 1 if unknown."""
    return os.cpu_count() or 1


def one_thread_each() -> None:
    """Limits libraries to one thread, here and in child processes: parallelism comes from processes. Call it before the
    libraries are loaded, because they read the variables then."""
    # Only these variables: setting all of them again would move the environment, and process titles need its place.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["POLARS_MAX_THREADS"] = "1"


def one_thread_environment() -> dict[str, str]:
    """The environment of a child process whose libraries use one thread."""
    return {"OPENBLAS_NUM_THREADS": "1", **os.environ, "POLARS_MAX_THREADS": "1"}


_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3


def keep_memory(kept_bytes: int = 0) -> None:
    """Makes glibc keep freed memory for the next part: allocating it again costs a tenth of a run, and a third of an
    upload. It keeps about `kept_bytes` (0: no limit)."""
    most = min(max(kept_bytes, 1 << 20), 1 << 30) if kept_bytes else 1 << 30
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL("libc.so.6").mallopt
        for setting, value in ((_M_MMAP_THRESHOLD, most), (_M_TRIM_THRESHOLD, most), (_M_TOP_PAD, min(most, 1 << 26))):
            mallopt(setting, value)
