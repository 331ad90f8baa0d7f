"""Names of jobs, logs, queues and tasks: every fabric can use them as names of files or queues."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cauce.api.names import check_job, check_owner, is_owner, job_id_problem
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


def job_name(owner: str, job: str) -> str:
    """The name of a job of the service on the fabric. Raises a UsageError for an invalid owner or job id."""
    return f"{check_owner(owner)}.{check_job(job)}"


def owner_and_job(name: str) -> tuple[str, str] | None:
    """Splits a name on the fabric into owner and job; None if it is not a job of the service."""
    owner, dot, job = name.partition(".")
    return (owner, job) if dot and is_owner(owner) and job_id_problem(job) is None else None


def job_gone(job: str) -> JobGone:
    return JobGone(f"job {job} does not exist: it was deleted, or never created; create it again to append to it")


@dataclass(frozen=True, slots=True, order=True)
class Log:
    """A log of a job: its log group, and its name within the group. The name is empty for the only log of a group."""

    group: str
    name: str = ""

    def __post_init__(self) -> None:
        if "." in self.group or not _NAME.fullmatch(self.encode()):
            raise FabricError(
                f"invalid name of a log {self.encode()!r}: use 1 to 100 letters, digits, dots, hyphens or underscores, "
                "without a dot in its group"
            )

    def encode(self) -> str:
        """The stored form. Only `decode` may read it."""
        return f"{self.group}.{self.name}" if self.name else self.group

    @staticmethod
    def decode(stored: str) -> Log:
        group, _, name = stored.partition(".")
        return Log(group, name)

    def __str__(self) -> str:
        return self.encode()
