"""A resource of Dagster that asks a Cauce service.

With a key, the id of the job is derived from it: a retry returns to the job of the first attempt and runs nothing
twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dagster import ConfigurableResource
from pydantic import Field

from cauce.client import Service

if TYPE_CHECKING:
    from cauce.runner.answers import Answers


class CauceResource(ConfigurableResource):  # type: ignore[type-arg]
    """A service: the addresses of its gateways, and a token if it requires one. Take the token from `EnvVar`."""

    gateways: list[str] = Field(default=["http://127.0.0.1:8080"])
    token: str = ""
    ca: str = ""

    @contextmanager
    def service(self) -> Iterator[Service]:
        """A client, closed at the end of the block."""
        with Service(list(self.gateways), self.token or None, ca=self.ca or None) as made:
            yield made

    def sql(self, text: str, on: str, *, key: str = "", **parameters: str) -> Answers:
        """Answers statements over a kept dataset: a dictionary of Polars frames, with the rejects.

        `key` names the question within this deployment, such as the run's id and the asset's key.
        """
        job = f"dagster-{hashlib.sha256(key.encode()).hexdigest()[:24]}" if key else None
        with self.service() as service:
            return service.sql(text, on, job=job, **parameters)
