"""Validates names from clients before any use, and maps jobs to their names on the fabric."""

from __future__ import annotations

import re

from cauce.api.names import job_id_problem
from cauce.gateway.errors import BadRequest, NoSuchJob

LOCAL = "local"
"""The owner of jobs that are created without a token."""

MOST_OWNER = 32
_OWNER = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{MOST_OWNER - 1}}}")
_SEPARATOR = "."


def check_job(job: str) -> str:
    problem = job_id_problem(job)
    if problem is not None:
        raise BadRequest(problem)
    return job


def check_owner(owner: str) -> str:
    """Raises BadRequest for an invalid name. Dots are not allowed: the first one on the fabric ends the owner."""
    if not _OWNER.fullmatch(owner):
        raise BadRequest(
            f"{owner[:80]!r} is not a valid owner name: use 1 to 32 letters, digits, hyphens or underscores, "
            "starting with a letter or a digit"
        )
    return owner


def fabric_name(owner: str, job: str) -> str:
    return f"{check_owner(owner)}{_SEPARATOR}{check_job(job)}"


def owner_and_job(name: str) -> tuple[str, str] | None:
    """Splits a name on the fabric into owner and job; None if it is not a job of the service."""
    owner, dot, job = name.partition(_SEPARATOR)
    return (owner, job) if dot and _OWNER.fullmatch(owner) and job_id_problem(job) is None else None


def no_such_job(job: str) -> NoSuchJob:
    return NoSuchJob(f"there is no job {job}; create it first, or look at the list of jobs")
