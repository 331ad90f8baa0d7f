"""What the service itself keeps on the fabric, beside the jobs: under names that no job of a user can have."""

from __future__ import annotations

SERVICE = "service"


def is_of_service(name: str) -> bool:
    """Whether a job of the fabric is none, but holds what outlives jobs. No worker looks at it."""
    return name.partition("-")[0] == SERVICE and "." not in name
