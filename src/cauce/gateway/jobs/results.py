"""Reads the answers and the rejects of a job: by pages and cursors, or complete. Never writes. Every read is
linearizable: what one gateway has shown, every other one shows from then on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from cauce.api.jobs import ENDED
from cauce.errors import CorruptRecord
from cauce.gateway.errors import JobDamaged, JobOver, NoSuchQuery, TooEarly
from cauce.gateway.jobs.job_context import JobContext
from cauce.gateway.jobs.output_logs import AnswerLog, RecordFetcher, RecordLocation, ReportLog
from cauce.gateway.jobs.read_model import JobView
from cauce.gateway.jobs.result_cursor import read_cursor, take
from cauce.gateway.jobs.statuses import sentence
from cauce.gateway.model import Answer, RejectPage, ResultPage
from cauce.job.result_formats import csv_text
from cauce.scan.block import REJECT_SCHEMA


class Results:
    def __init__(self, context: JobContext) -> None:
        self._fabric = context.fabric
        self._views = context.views
        self._statuses = context.statuses

    def result(self, owner: str, job: str, query: str, cursor: str | None, limit: int) -> ResultPage:
        place = read_cursor(cursor, limit)
        with self.reading(owner, job) as view:
            answer = _answer_log(view, job, query)
            self._views.refresh(view, consistent=True)
            rows = pl.DataFrame(schema={name: output.dtype for name, output in answer.columns.items()})
            heights = [page.rows for page in answer.pages]
            fetcher = RecordFetcher(self._fabric, view.name)
            taken, behind = take(heights, lambda number: answer.page(fetcher, number), place, limit)
            complete = answer.names.complete
            at_end = (complete or self._is_over(view, owner, job)) and behind.number >= len(heights)
            follows = None if at_end else str(behind)
            return ResultPage(pl.concat([rows, *taken]), follows, complete, sum(heights), answer.columns)

    def answer(self, owner: str, job: str, query: str) -> Answer:
        """A complete answer, page by page as written. Raises TooEarly until it is complete."""
        with self.reading(owner, job) as view:
            answer = _answer_log(view, job, query)
            self._views.refresh(view, consistent=True)
            if not answer.names.complete:
                raise self._too_early(view, job, f"the answer of {query}")

        def pages() -> Iterator[pl.DataFrame]:
            fetcher = RecordFetcher(self._fabric, view.name)
            for number in range(len(answer.pages)):
                with self._damage_of(owner, job):
                    yield answer.page(fetcher, number)

        return Answer(answer.columns, pages())

    def rejects(self, owner: str, job: str, cursor: str | None, limit: int) -> RejectPage:
        """Rejects ordered by table and part, up to the first part that has not been read."""
        place = read_cursor(cursor, limit)
        with self.reading(owner, job) as view:
            self._views.refresh(view, consistent=True)
            places = list(rejects_in_order(view))
            heights = [found.rows for _, found in places]
            fetcher = RecordFetcher(self._fabric, view.name)

            def frame(number: int) -> pl.DataFrame:
                log, found = places[number]
                return log.frame(fetcher, found)

            taken, behind = take(heights, frame, place, limit)
            complete = view.all_read
            at_end = (complete or self._is_over(view, owner, job)) and behind.number >= len(places)
            rows = pl.concat([pl.DataFrame(schema=REJECT_SCHEMA), *taken])
            return RejectPage(rows, None if at_end else str(behind), complete, sum(heights))

    def rejects_csv(self, owner: str, job: str) -> Iterator[str]:
        """All rejects in the format of rejects.csv, with header. Raises TooEarly until they are complete."""
        with self.reading(owner, job) as view:
            self._views.refresh(view, consistent=True)
            if not view.all_read:
                raise self._too_early(view, job, "the list of rejects")
        # A stable sort: rejects of one file are in order already.
        places = sorted(rejects_in_order(view), key=lambda each: each[1].file)

        def texts() -> Iterator[str]:
            yield ",".join(REJECT_SCHEMA) + "\n"
            fetcher = RecordFetcher(self._fabric, view.name)
            for log, place in places:
                with self._damage_of(owner, job):
                    yield csv_text(log.frame(fetcher, place))

        return texts()

    def _is_over(self, view: JobView, owner: str, job: str) -> bool:
        """Whether the job has ended. Raises JobOver for a done job that is being removed now: records that are missing
        then do not mean the end of its answer."""
        if view.state == "done" and not view.complete:
            self._views.open(owner, job)
        return view.state in ENDED

    def _too_early(self, view: JobView, job: str, what: str) -> TooEarly | JobOver:
        if view.state in ENDED:
            return JobOver(f"job {job} is {view.state}: {what} will never be complete")
        return TooEarly(
            f"{what} of job {job} is not complete yet: retry, or read the pages that are ready", retry_after=1
        )

    @contextmanager
    def reading(self, owner: str, job: str, *, consistent: bool = True) -> Iterator[JobView]:
        """Opens a job for reading. Raises JobDamaged if its logs cannot be read."""
        view = self._views.open(owner, job, consistent=consistent)
        with self._damage_of(owner, job):
            yield view

    @contextmanager
    def _damage_of(self, owner: str, job: str) -> Iterator[None]:
        try:
            yield
        except CorruptRecord as problem:
            raise JobDamaged(sentence(self._statuses.of_damaged(owner, job, problem))) from problem


def _answer_log(view: JobView, job: str, query: str) -> AnswerLog:
    found = view.answers.get(query)
    if found is None:
        raise NoSuchQuery(f"job {job} has no query {query[:80]!r}; it has {', '.join(view.answers)}")
    return found


def rejects_in_order(view: JobView) -> Iterator[tuple[ReportLog, RecordLocation]]:
    """By table and part. A table follows only when all tables before it are complete, so that cursors stay valid."""
    for log in view.reports.values():
        for place in log.rejects:
            yield log, place
        if not log.names.complete:
            return
