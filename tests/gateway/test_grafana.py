"""The Grafana dashboard uses only metrics that exist, and shows every metric of the service."""

from __future__ import annotations

import json
import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from scripts.grafana import OUT, dashboard

from cauce.gateway.jobs.statuses import Figures
from cauce.gateway.metrics import Metrics

DOCUMENTED = json.loads(OUT.read_text(encoding="utf-8"))


def exported() -> set[str]:
    """The names of all samples that a gateway exports after each event has happened once."""
    metrics = Metrics()
    metrics.requests.labels("GET", "/", "200").inc()
    metrics.seconds.labels("/").observe(0.1)
    metrics.parts.labels("new").inc()
    metrics.events.labels("done").inc()
    metrics.show(Figures())
    families = text_string_to_metric_families(metrics.text().decode())
    return {sample.name for family in families for sample in family.samples}


def expressions() -> list[str]:
    return [target["expr"] for panel in DOCUMENTED["panels"] for target in panel["targets"]]


def test_the_committed_file_equals_the_generated_one() -> None:
    assert dashboard() == DOCUMENTED


def test_every_metric_that_is_named_exists() -> None:
    named = {name for expression in expressions() for name in re.findall(r"\bcauce_\w+", expression)}
    assert len(named) > 8
    assert named - exported() == set()


def test_every_metric_that_exists_is_shown() -> None:
    shown = " ".join(expressions())
    kept = {name for name in exported() if not name.endswith(("_created", "_sum", "_count"))}
    # The total is the sum of the jobs in each state.
    assert {name for name in kept if not re.search(rf"\b{name}\b", shown)} == {"cauce_jobs"}


def test_it_depends_on_no_machine() -> None:
    text = Path(OUT).read_text(encoding="utf-8")
    assert "localhost" not in text
    assert "http" not in text
