"""The client of the service: resumable uploads, job status and answers, over HTTP only. It never accesses a fabric."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cauce.api.jobs import JobStatus
from cauce.client.job import Job
from cauce.client.service import Service
from cauce.client.settings import Sent, Settings

if TYPE_CHECKING:
    from cauce.client.asynchronous import AsyncJob, AsyncService

__all__ = ["AsyncJob", "AsyncService", "Job", "JobStatus", "Sent", "Service", "Settings"]


def __getattr__(name: str) -> object:
    # Loaded on first use: the command line has no event loop, and starts faster without it.
    if name in ("AsyncJob", "AsyncService"):
        return getattr(import_module("cauce.client.asynchronous"), name)
    raise AttributeError(f"module 'cauce.client' has no attribute {name!r}")
