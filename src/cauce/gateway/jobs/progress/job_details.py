"""Details of a job that are read on request only: the tasks of a stage, and rejects by reason."""

from __future__ import annotations

from cauce.gateway.errors import JobOver
from cauce.gateway.jobs.job_context import JobContext
from cauce.gateway.jobs.output_logs import RecordFetcher
from cauce.gateway.jobs.progress.reject_reasons import ReasonsBody, reasons_of
from cauce.gateway.jobs.progress.stage_detail import StageDetailBody, stage_detail
from cauce.gateway.jobs.results import Results, rejects_in_order


class JobDetails:
    def __init__(self, context: JobContext, results: Results) -> None:
        self._fabric = context.fabric
        self._views = context.views
        self._results = results

    def stage(self, owner: str, job: str, number: int) -> StageDetailBody:
        """The tasks of one stage with their counters. May lag behind other gateways."""
        with self._results.reading(owner, job, consistent=False) as view:
            self._views.refresh(view)
            view.history.advance(self._fabric, view.name)
            problem = view.plan_problem()
            if problem is not None:
                raise JobOver(f"the stages of job {job} are not shown, because {problem}")
            return stage_detail(view, job, number)

    def reject_reasons(self, owner: str, job: str) -> ReasonsBody:
        """The rejects that have been read so far, grouped by reason and column."""
        with self._results.reading(owner, job) as view:
            self._views.refresh(view, consistent=True)
            places = list(rejects_in_order(view))
            fetcher = RecordFetcher(self._fabric, view.name)
            frames = (log.frame(fetcher, place) for log, place in places)
            return reasons_of(frames, sum(place.rows for _, place in places), complete=view.all_read)
