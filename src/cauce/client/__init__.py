"""The client of the service: resumable uploads, job status and answers, over HTTP only. It never accesses a fabric."""

from __future__ import annotations

from cauce.api.jobs import JobStatus
from cauce.client.job import Job
from cauce.client.service import Service
from cauce.client.settings import Sent, Settings

__all__ = ["Job", "JobStatus", "Sent", "Service", "Settings"]
