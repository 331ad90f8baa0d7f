"""Valid names of jobs, logs, queues and tasks: every fabric can use them as names of files or queues."""

from __future__ import annotations

import re

from cauce.errors import FabricError, JobGone

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


def check_name(what: str, name: str) -> str:
    """Raises for an invalid name. Names become file names, so that path traversal must be impossible."""
    if not _NAME.fullmatch(name):
        raise FabricError(
            f"invalid name of a {what} {name!r}: use 1 to 100 letters, digits, dots, hyphens or underscores, "
            "without a dot at the beginning"
        )
    return name


SERVICE = "service"
"""Reserved for the service's own logs. No job of a user can have such a name: it has a dot."""


def service_log_name(*parts: object) -> str:
    """The name of one of the service's own logs. It is used like that of a job; workers never see it."""
    return "-".join((SERVICE, *map(str, parts)))


def is_service_log(name: str) -> bool:
    return name.partition("-")[0] == SERVICE and "." not in name


def job_gone(job: str) -> JobGone:
    return JobGone(f"job {job} does not exist: it was deleted, or never created; create it again to append to it")


def log_in_group(group: str, name: str) -> str:
    """The name of a log that shares a log group with others. A log whose name has no group is a group of its own."""
    assert "." not in group
    return f"{group}.{name}"


def log_group_of(log: str) -> str:
    """The log group of a name, as `log_in_group` has put it there."""
    return log.partition(".")[0]
