"""Limits of the kernel under which a service is started."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

FEW_FILES = 400
"""The soft limit of open files that the service inherits: 190 open jobs reach 1024, and one tenant may have 100."""


@contextmanager
def few_files() -> Iterator[None]:
    """For the processes that are started meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_FILES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * FEW_FILES), hard))
