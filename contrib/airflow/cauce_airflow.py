"""An operator of Apache Airflow 3 that asks a Cauce service. Put this file into the folder of plugins or of DAGs.

The id of the job is derived from the task instance: a retry returns to the job of the first attempt and runs nothing
twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook, BaseOperator

from cauce.client import Service

if TYPE_CHECKING:
    from airflow.sdk import Context

FORMATS = {"csv", "json", "parquet", "arrow"}


class CauceSqlOperator(BaseOperator):
    """Answers SQL statements over a dataset that the service keeps.

    `conn_id` names a connection of Airflow: its host, port and scheme (`https` or `http`) are the gateway's, its
    password is the token. With `out`, each answer is written to `out/NAME.FORMAT`. The task returns the number of rows
    of each answer, the number of rejects and the id of the job, never the rows. It fails if there are more than
    `max_rejects`.
    """

    template_fields = ("sql", "on", "out", "parameters")
    template_ext = (".sql",)

    def __init__(
        self,
        *,
        sql: str,
        on: str,
        conn_id: str = "cauce_default",
        out: str | None = None,
        format: str = "csv",
        parameters: Mapping[str, str] | None = None,
        max_rejects: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if format not in FORMATS:
            raise ValueError(f"unknown format {format}; expected one of {', '.join(sorted(FORMATS))}")
        self.sql = sql
        self.on = on
        self.conn_id = conn_id
        self.out = out
        self.format = format
        self.parameters = dict(parameters or {})
        self.max_rejects = max_rejects

    def execute(self, context: Context) -> dict[str, Any]:
        from cauce.client.submission import SqlSubmission

        job_id = job_of(context["ti"])
        with self._service() as service:
            job = service.start(SqlSubmission(self.sql, self.on, self.parameters, job_id))
            status = job.wait()
            if self.max_rejects is not None and status.rejects > self.max_rejects:
                raise RuntimeError(f"job {job.id} has {status.rejects} rejects, more than {self.max_rejects}")
            if self.out is not None:
                self._save(job, list(status.answers))
            rows = {name: answer.rows for name, answer in status.answers.items()}
            return {"job": job.id, "rows": rows, "rejects": status.rejects}

    def _service(self) -> Service:
        found = BaseHook.get_connection(self.conn_id)
        scheme = found.schema or (found.conn_type if found.conn_type in ("http", "https") else "http")
        return Service(f"{scheme}://{found.host}:{found.port or 8080}", found.password or None)

    def _save(self, job: Any, names: list[str]) -> None:
        folder = Path(self.out or "")
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            # Readers never see a part of a file.
            unfinished = folder / f".{name}.{self.format}.new"
            with unfinished.open("wb") as file:
                job.save(name, self.format, file)
            unfinished.replace(folder / f"{name}.{self.format}")


def job_of(instance: Any) -> str:
    """The same for all attempts of a task instance, and different for every other one."""
    key = "\0".join(map(str, (instance.dag_id, instance.task_id, instance.run_id, instance.map_index)))
    return f"airflow-{hashlib.sha256(key.encode()).hexdigest()[:24]}"
