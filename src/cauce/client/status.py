"""Decodes job statuses. Unknown fields of a newer gateway are ignored."""

from __future__ import annotations

import msgspec

from cauce.api.jobs import JobsBody, JobStatus
from cauce.client.connection_problems import unreadable

_job = msgspec.json.Decoder(JobStatus)
_jobs = msgspec.json.Decoder(JobsBody)


def load_status(data: bytes) -> JobStatus:
    with unreadable():
        return _job.decode(data)


def load_statuses(data: bytes) -> JobsBody:
    with unreadable():
        return _jobs.decode(data)
