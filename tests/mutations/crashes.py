"""Mutations of the defences against jobs that kill their workers."""

from __future__ import annotations

from tests.mutations.mutation import Attack, Mutation, in_file

RECONCILER = "tests/doctor/supervision/test_reconciler.py"
CRASHES = "tests/job/test_crashes.py"

ATTACKS = (
    Attack(
        "jobs that kill their workers",
        (
            Mutation(
                "crashes-blamed-on-workers",
                "A worker that a job kept crashing was restarted as late as one that crashes by itself.",
                in_file(
                    "doctor/supervision/reconciler.py",
                    ("min(self.timing.backoff, MAX_WORK_BACKOFF_S) if history.held.job else", ""),
                ),
                (f"{RECONCILER}::test_crashes_at_work_on_a_job_have_a_short_backoff",),
            ),
            Mutation(
                "crashes-park-the-last-worker",
                "The last worker of a service had the full backoff of a minute.",
                in_file(
                    "doctor/supervision/reconciler.py",
                    ('if role_of(name) != "worker" or self._another_is_ready(name, now):', "if True:"),
                ),
                (
                    f"{RECONCILER}::test_the_last_worker_of_a_service_has_a_short_backoff",
                    f"{RECONCILER}::test_a_worker_in_backoff_is_started_when_it_becomes_the_last",
                ),
            ),
            Mutation(
                "crashes-park-processes",
                "A process that had crashed several times was not restarted until an operator started it.",
                in_file(
                    "doctor/supervision/reconciler.py",
                    ("return float(min(FIRST_BACKOFF_S * 2**doublings, max_s))", 'return float("inf")'),
                ),
                (
                    f"{RECONCILER}::test_a_process_that_keeps_crashing_is_always_restarted",
                    f"{RECONCILER}::test_the_backoff_doubles_with_each_crash_up_to_a_limit",
                ),
            ),
            Mutation(
                "crashes-restart-without-backoff",
                "A process that crashed at each start was restarted without a pause.",
                in_file(
                    "doctor/supervision/reconciler.py",
                    ("if crashes <= IMMEDIATE_RESTARTS:", "if crashes:"),
                ),
                (f"{RECONCILER}::test_the_backoff_doubles_with_each_crash_up_to_a_limit",),
            ),
            Mutation(
                "crashes-counted-for-each-task",
                "Crashes were counted for each task, so that a job with many tasks could kill workers for hours.",
                in_file(
                    "job/crashes.py",
                    (
                        "if crashes >= self._attempts or proven_crashes >= proven:",
                        "if False:",
                    ),
                ),
                (f"{CRASHES}::test_crashes_in_a_row_are_counted_over_all_tasks",),
            ),
        ),
    ),
)
