"""Names that come from outside, checked before anything is done with them, and what a job is called on the fabric."""

from __future__ import annotations

import re

from cauce.gateway.errors import BadRequest, NoSuchJob

LOCAL = "local"
"""The owner of jobs that were sent without a token."""

_JOB = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_SEPARATOR = "."


def check_job(job: str) -> str:
    if not _JOB.fullmatch(job):
        raise BadRequest(
            f"{job[:80]!r} cannot be a job's id: use 1 to 64 letters, digits, dots, hyphens or underscores, "
            "beginning with a letter or a digit"
        )
    return job


def check_owner(owner: str) -> str:
    """No dots: on the fabric the first one ends the owner's name."""
    if not _OWNER.fullmatch(owner):
        raise BadRequest(
            f"{owner[:80]!r} cannot be an owner's name: use 1 to 32 letters, digits, hyphens or underscores, "
            "beginning with a letter or a digit"
        )
    return owner


def fabric_name(owner: str, job: str) -> str:
    return f"{check_owner(owner)}{_SEPARATOR}{check_job(job)}"


def owner_and_job(name: str) -> tuple[str, str] | None:
    """Whose job a name on the fabric is; None if it is none of the service's."""
    owner, dot, job = name.partition(_SEPARATOR)
    return (owner, job) if dot and _OWNER.fullmatch(owner) and _JOB.fullmatch(job) else None


def no_such_job(job: str) -> NoSuchJob:
    return NoSuchJob(f"there is no job {job}; create it first, or look at the list of jobs")
