"""What a job is: enough for any process to build the same plan, and to refuse where it builds another."""

from __future__ import annotations

import msgspec

from cauce.datasets import load
from cauce.errors import PlanMismatch
from cauce.plan.physical import Plan


class Manifest(msgspec.Struct, frozen=True):
    job: str
    dataset: str
    queries: tuple[str, ...]
    parameters: dict[str, str]
    partitions: int
    lanes: int
    digest: str
    workers: int = 1
    version: int = 1

    def dump(self) -> bytes:
        return msgspec.json.encode(self)

    def plan(self) -> Plan:
        plan = load(self.dataset).plan(self.queries, self.parameters, self.partitions)
        if plan.digest != self.digest:
            raise PlanMismatch(
                f"job {self.job} was planned as {self.digest[:12]}, this process plans {plan.digest[:12]} for "
                f"{self.dataset}: run the same version of Cauce and of the dataset everywhere, or start a new job"
            )
        return plan


def load_manifest(data: bytes) -> Manifest:
    return msgspec.json.decode(data, type=Manifest)
