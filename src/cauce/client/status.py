"""Decodes the statuses of jobs and kept datasets. Unknown fields of a newer gateway are ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from cauce.api.jobs import JobsBody, JobStatus
from cauce.client.connection_problems import unreadable

if TYPE_CHECKING:
    from cauce.job.kept_messages import KeptDataset

_job = msgspec.json.Decoder(JobStatus)
_jobs = msgspec.json.Decoder(JobsBody)


def load_status(data: bytes) -> JobStatus:
    with unreadable():
        return _job.decode(data)


def load_statuses(data: bytes) -> JobsBody:
    with unreadable():
        return _jobs.decode(data)


def dataset_path(name: str) -> str:
    return f"/v1/datasets/{quote(name, safe='')}"


def load_kept(data: bytes) -> KeptDataset:
    # Imported here: schemas load the libraries that read files.
    from cauce.job.kept_messages import KeptDataset

    with unreadable():
        return msgspec.json.decode(data, type=KeptDataset)


def load_all_kept(data: bytes) -> list[KeptDataset]:
    from cauce.job.kept_messages import KeptDatasets

    with unreadable():
        return msgspec.json.decode(data, type=KeptDatasets).kept
