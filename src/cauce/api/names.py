"""Names that gateway and client check in the same way: job ids and addresses of this machine."""

from __future__ import annotations

import ipaddress
import re

JOB_ID = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""Regular expression of a valid job id."""
_JOB_ID = re.compile(JOB_ID)


def job_id_problem(job: str) -> str | None:
    """The problem of an invalid job id; None if it is valid."""
    if _JOB_ID.fullmatch(job):
        return None
    return (
        f"invalid job id {job[:80]!r}; expected 1 to 64 letters, digits, dots, hyphens or underscores, the first a "
        "letter or a digit"
    )


def is_loopback(host: str) -> bool:
    """Whether a host name or address, with or without brackets, can only mean this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
