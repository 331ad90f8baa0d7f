"""Writes docs/grafana/cauce.json, the dashboard for Grafana: `python scripts/grafana.py`."""

from __future__ import annotations

import json
from pathlib import Path

OUT = Path(__file__).parents[1] / "docs" / "grafana" / "cauce.json"
WIDTH, HEIGHT, COLUMNS = 8, 8, 3

PANELS: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("Jobs by state", "short", [("sum by (state) (cauce_jobs_in_state)", "{{state}}")]),
    ("Ends and beginnings of jobs", "short", [("sum by (event) (increase(cauce_job_events_total[5m]))", "{{event}}")]),
    ("Rows read a second", "rowsps", [("clamp_min(deriv(max(cauce_rows_read)[1m:5s]), 0)", "rows")]),
    ("Bytes received a second", "Bps", [("sum(rate(cauce_received_bytes_total[1m]))", "received")]),
    (
        "Bytes not yet read by workers",
        "bytes",
        [("max(cauce_backlog_bytes)", "waiting"), ("max(cauce_held_bytes)", "held")],
    ),
    (
        "Memory of tasks",
        "bytes",
        [("max(cauce_task_memory_bytes)", "held"), ("max(cauce_spilled_bytes)", "in temporary files")],
    ),
    ("Parts accepted per second", "ops", [("sum by (outcome) (rate(cauce_parts_total[1m]))", "{{outcome}}")]),
    ("Requests a second", "reqps", [("sum by (route) (rate(cauce_requests_total[1m]))", "{{route}}")]),
    (
        "Refusals a second",
        "reqps",
        [('sum by (status) (rate(cauce_requests_total{status=~"4..|5.."}[1m]))', "{{status}}")],
    ),
    (
        "Time to answer",
        "s",
        [
            (f"histogram_quantile({q}, sum by (le) (rate(cauce_request_seconds_bucket[5m])))", name)
            for q, name in ((0.5, "median"), (0.99, "99 of 100"))
        ],
    ),
    (
        "Open requests",
        "short",
        [("sum(cauce_open_requests)", "open"), ("sum(cauce_pool_waiting)", "wait for a thread")],
    ),
    ("Bytes buffered for request bodies", "bytes", [("sum(cauce_body_bytes)", "bodies")]),
    ("Rejects", "short", [("max(cauce_rejects)", "rejects")]),
]


def panel(number: int, title: str, unit: str, asked: list[tuple[str, str]]) -> dict[str, object]:
    row, column = divmod(number, COLUMNS)
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "datasource": source,
        "gridPos": {"x": column * WIDTH, "y": row * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {"refId": chr(65 + index), "expr": expression, "legendFormat": legend, "datasource": source}
            for index, (expression, legend) in enumerate(asked)
        ],
    }


def dashboard() -> dict[str, object]:
    variable = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "uid": "cauce",
        "title": "Cauce",
        "tags": ["cauce"],
        "schemaVersion": 39,
        "version": 1,
        "refresh": "5s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": [variable]},
        "panels": [panel(number, *each) for number, each in enumerate(PANELS)],
    }


if __name__ == "__main__":
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(dashboard(), indent=2) + "\n", encoding="utf-8")
