"""The client of the service: uploads with resume, statuses and answers, over HTTP only. It never sees a fabric."""

from __future__ import annotations

from cauce.client.service import Job, Service
from cauce.client.status import JobStatus
from cauce.client.upload import Sent

__all__ = ["Job", "JobStatus", "Sent", "Service"]
