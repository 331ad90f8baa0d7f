"""The client of the service: uploads with resume, statuses and answers, over HTTP only. It never sees a fabric."""

from __future__ import annotations

from cauce.client.job import Job
from cauce.client.service import Service
from cauce.client.settings import Sent, Settings
from cauce.client.status import JobStatus

__all__ = ["Job", "JobStatus", "Sent", "Service", "Settings"]
