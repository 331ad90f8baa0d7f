"""What a job is: enough for any process to build the same plan, and to refuse where it builds another."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from cauce.datasets import load
from cauce.errors import PlanMismatch
from cauce.plan.physical import Plan

_PLANS_KEPT = 64
_plans: OrderedDict[bytes, Plan] = OrderedDict()


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
    owner: str = ""
    """Whose job it is, where a service runs it for many."""
    created: float = 0.0

    def dump(self) -> bytes:
        return msgspec.json.encode(self)

    def plan(self) -> Plan:
        """The same object for the same questions: a plan is never changed, and making one takes milliseconds."""
        asked = msgspec.json.encode((self.digest, self.dataset, self.queries, self.parameters, self.partitions))
        plan = _plans.pop(asked, None) or self._make_plan()
        _plans[asked] = plan
        while len(_plans) > _PLANS_KEPT:
            _plans.popitem(last=False)
        return plan

    def _make_plan(self) -> Plan:
        plan = load(self.dataset).plan(self.queries, self.parameters, self.partitions, isolate=False)
        if plan.digest != self.digest:
            raise PlanMismatch(
                f"job {self.job} was planned as {self.digest[:12]}, this process plans {plan.digest[:12]} for "
                f"{self.dataset}: run the same version of Cauce and of the dataset everywhere, or start a new job"
            )
        return plan


def load_manifest(data: bytes) -> Manifest:
    return msgspec.json.decode(data, type=Manifest)
