"""Names that every side checks in the same way: job ids, owners, and addresses of this machine."""

from __future__ import annotations

import ipaddress
import re

from cauce.errors import UsageError

JOB_ID = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""Regular expression of a valid job id."""
_JOB_ID = re.compile(JOB_ID)

LOCAL = "local"
"""The owner of jobs that are created without a token."""
MOST_OWNER = 32
OWNER = rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{MOST_OWNER - 1}}}"
"""Regular expression of a valid name of an owner."""
_OWNER = re.compile(OWNER)


def job_id_problem(job: str) -> str | None:
    """The problem of an invalid job id; None if it is valid."""
    if _JOB_ID.fullmatch(job):
        return None
    return (
        f"invalid job id {job[:80]!r}; expected 1 to 64 letters, digits, dots, hyphens or underscores, the first a "
        "letter or a digit"
    )


def check_job(job: str) -> str:
    problem = job_id_problem(job)
    if problem is not None:
        raise UsageError(problem)
    return job


def is_owner(name: str) -> bool:
    """Whether it is a valid name of an owner. Dots are not allowed: the first one on the fabric ends the owner."""
    return _OWNER.fullmatch(name) is not None


def check_owner(owner: str) -> str:
    if not is_owner(owner):
        raise UsageError(
            f"{owner[:80]!r} is not a valid owner name: use 1 to 32 letters, digits, hyphens or underscores, "
            "starting with a letter or a digit"
        )
    return owner


def is_loopback(host: str) -> bool:
    """Whether a host name or address, with or without brackets, can only mean this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
