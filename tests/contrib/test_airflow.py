"""The operator in a real run of a DAG, against a real service. Needs `apache-airflow`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contrib.kept import CONTRIB, SQL, kept_orders

pytestmark = pytest.mark.soak

pytest.importorskip("airflow.sdk")

ROOT = Path(__file__).parents[2]
DAG = f"""
import json, os, pathlib, pendulum
from airflow.sdk import DAG, task
from cauce_airflow import CauceSqlOperator

OUT = os.environ["OUT"]

@task
def record(found):
    pathlib.Path(OUT, "found.json").write_text(json.dumps(found))

with DAG("revenue", schedule=None, start_date=pendulum.datetime(2024, 1, 1)) as dag:
    record(CauceSqlOperator(task_id="ask", sql={SQL!r}, on="shop", out=OUT, max_rejects=1).output)
"""


def test_dag_writes_the_answer_and_returns_the_counts(tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags/revenue.py").write_text(DAG)
    out = tmp_path / "out"
    with kept_orders(tmp_path) as url:
        variables = {
            **os.environ,
            "AIRFLOW_HOME": str(tmp_path / "airflow"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
            "AIRFLOW_CONN_CAUCE_DEFAULT": url,
            "OUT": str(out),
            "PYTHONPATH": f"{ROOT / 'src'}:{CONTRIB / 'airflow'}",
        }
        for words in (["db", "migrate"], ["dags", "reserialize"], ["dags", "test", "revenue"]):
            command = [sys.executable, "-m", "airflow", *words]
            done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    assert (out / "q1.csv").read_text().splitlines() == ["sku,paid", "a,1.50", "b,2.00"]
    found = json.loads((out / "found.json").read_text())
    assert (found["rows"], found["rejects"]) == ({"q1": 2}, 1)
    assert found["job"].startswith("airflow-")
