"""The datasets that a service keeps as the source of the tools. A job that exceeds the time limit is cancelled."""

from __future__ import annotations

import time
from collections.abc import Mapping

from cauce.client import JobStatus, Service
from cauce.client.job import Job, done
from cauce.errors import JobFailed, UsageError, unknown
from cauce.job.kept_messages import KeptDataset
from cauce.mcp.results import Answer, Bounded, Column, Limits, Plan, Reject, Rejects, Run, Table, Tables
from cauce.mcp.source import Question
from cauce.process.limits import cores

LOOK_S = (0.05, 1.0)
"""The first and the longest pause between two looks at a job."""


class ServiceSource:
    def __init__(self, service: Service) -> None:
        self._service = service

    def close(self) -> None:
        self._service.close()

    def tables(self) -> Tables:
        found = [
            Table(kept.name, name, [Column(column.name, column.type) for column in table.columns])
            for kept in self._service.datasets()
            for name, table in kept.tables.items()
        ]
        return Tables(found)

    def sql(self, question: Question, limits: Limits) -> Run:
        from cauce.client.submission import SqlSubmission

        kept = self._kept(question)
        submission = SqlSubmission(question.sql, kept.name, question.parameters, None, kept)
        job = self._service.start(submission)
        status = _finished(job, limits)
        bounded = Bounded(limits)
        assert submission.dataset is not None
        answers: list[Answer] = []
        for name, answer in status.answers.items():
            page = job.head(name, max(limits.rows, 1))
            types = submission.dataset.queries[name].columns
            rows = bounded.rows(page.rows)
            columns = [Column(column, str(types[column].dtype)) for column in page.columns]
            answers.append(Answer(name, columns, rows, answer.rows, truncated=len(rows) < answer.rows))
        return Run(job.id, answers, status.rejects)

    def query(self, name: str, parameters: Mapping[str, str], limits: Limits) -> Run:
        raise UsageError("named queries need a declared dataset and its files: --dataset and --data")

    def explain(self, question: Question, limits: Limits) -> Plan:
        from cauce.client.submission import SqlSubmission
        from cauce.plan.explain import explain

        kept = self._kept(question)
        declared = SqlSubmission(question.sql, kept.name, question.parameters, None, kept).dataset
        assert declared is not None
        return Bounded(limits).text(explain(declared.plan(parameters=dict(question.parameters), partitions=cores())))

    def rejects(self, run: str, limits: Limits) -> Rejects:
        job = self._service.job(run)
        total = job.status().rejects
        first = job.rejects_head(max(limits.rows, 1))
        rows = Bounded(limits).rows(first.rows)
        named = [dict(zip(first.columns, row, strict=True)) for row in rows]
        found = [Reject(each["file"], each["line"], each["column"], each["reason"]) for each in named]
        return Rejects(found, total, truncated=len(found) < total)

    def _kept(self, question: Question) -> KeptDataset:
        """The dataset of the question; if it names none, the only one."""
        if question.types:
            raise UsageError("kept datasets have fixed types; upload them with --type, or use CAST")
        name = question.dataset
        if name:
            found = self._service.kept(name)
            if found is not None:
                return found
        kept = self._service.datasets()
        if name or not kept:
            raise unknown("dataset", name or "(none)", [each.name for each in kept])
        if len(kept) > 1:
            raise UsageError(f"several datasets are kept; name one: {', '.join(each.name for each in kept)}")
        return kept[0]


def _finished(job: Job, limits: Limits) -> JobStatus:
    due = time.monotonic() + limits.seconds
    pause = LOOK_S[0]
    while not (status := job.status()).over:
        if time.monotonic() > due:
            job.cancel()
            raise JobFailed(
                f"the time limit of {limits.seconds:g} s was exceeded, and the job was cancelled; narrow the question, "
                "or raise --max-seconds"
            )
        time.sleep(pause)
        pause = min(pause * 1.5, LOOK_S[1])
    return done(status)
