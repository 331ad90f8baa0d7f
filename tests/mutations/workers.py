"""Mutations of the defences of workers and doctors against the jobs of tenants."""

from __future__ import annotations

from tests.mutations.mutation import Attack, Mutation, in_file

RECONCILER = "tests/doctor/supervision/test_reconciler.py"
LOOP = "tests/worker/test_loop.py"
NO_WORKER = "tests/service/test_http_no_worker.py"
LONG_TEXTS = "tests/scan/sentiment/test_long_texts.py"

KILLED_WORKERS = Attack(
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
            in_file("doctor/supervision/reconciler.py", ("if crashes <= IMMEDIATE_RESTARTS:", "if crashes:")),
            (f"{RECONCILER}::test_the_backoff_doubles_with_each_crash_up_to_a_limit",),
        ),
        Mutation(
            "crashes-hide-that-no-worker-is-available",
            "A worker in a crash loop counted as available.",
            in_file(
                "doctor/supervision/no_worker.py",
                ('(row.state == "starting" and row.crashes < CRASH_LOOP)', 'row.state == "starting"'),
            ),
            ("tests/doctor/supervision/test_no_worker.py::test_a_worker_in_a_crash_loop_does_not_count_as_available",),
        ),
        Mutation(
            "readyz-hides-missing-workers",
            "/readyz did not report that no worker was available.",
            in_file("gateway/http/routes.py", ('"" if missing is None else missing.text', '""')),
            ("tests/gateway/http/test_app.py::test_a_gateway_without_workers_is_ready_with_a_notice",),
        ),
        Mutation(
            "why-hides-missing-workers",
            "`why` did not report that no worker was available.",
            in_file(
                "gateway/http/job_routes.py",
                ("WhyBody(with_notice(await self._watching.status(owner, job), why))", "WhyBody(why)"),
            ),
            (f"{NO_WORKER}::test_stopped_workers_are_named_in_job_and_service_status",),
        ),
        Mutation(
            "memory-kills-hit-doctors",
            "Workers kept the OOM score of doctors, so that the kernel could kill a doctor for the memory of a job.",
            in_file("worker/process.py", ("    raise_oom_score(WORKER)\n", "")),
            ("tests/service/test_http_cluster.py::test_oom_scores_order_workers_before_gateways_before_doctors",),
        ),
        Mutation(
            "crashes-counted-for-each-task",
            "Crashes were counted for each task, so that a job with many tasks could kill workers for hours.",
            in_file("job/crashes.py", ("if crashes >= self._attempts or proven_crashes >= proven:", "if False:")),
            ("tests/job/test_crashes.py::test_crashes_in_a_row_are_counted_over_all_tasks",),
        ),
        Mutation(
            "crashes-never-quarantine",
            "A job that had crashed its workers was tried again without limit.",
            in_file(
                "job/job_log.py",
                ("problem = self.crashes.verdict() if found else None", "problem: JobFailed | None = None"),
            ),
            ("tests/job/test_job_log.py::test_crashes_at_three_tasks_in_a_row_quarantine_the_job",),
        ),
        Mutation(
            "crashes-without-pause-between-them",
            "A worker resumed a job that had crashed others at once, before the jobs of other tenants.",
            in_file(
                "worker/leases.py", ("return self._clock is None or job.backoff_over(self._clock())", "return True")
            ),
            (f"{LOOP}::test_a_worker_backs_off_from_a_job_that_has_crashed_others",),
            raises=("Killed",),
        ),
        Mutation(
            "crashes-uncounted-while-folds-read",
            "Crashes while a fold gathered its input were not counted.",
            in_file(
                "worker/tasks/task.py",
                (
                    "if self._side_bytes >= min(JOURNALED_SIDES_BYTES, self.context.limits.read_bytes):",
                    "if self.sides_seq == SIDES_SEQ:",
                ),
            ),
            (f"{LOOP}::test_a_fold_that_kills_its_worker_while_it_reads_input_fails_its_job",),
        ),
        Mutation(
            "crashes-uncounted-while-broadcast-sides-are-read",
            "Crashes while a lane gathered the broadcast side of a join were not counted.",
            in_file(
                "worker/tasks/task.py",
                (
                    "if self._side_bytes >= min(JOURNALED_SIDES_BYTES, self.context.limits.read_bytes):",
                    "if self.sides_seq != SIDES_SEQ:",
                ),
            ),
            (f"{LOOP}::test_a_lane_that_kills_its_worker_while_it_reads_a_broadcast_side_fails_its_job",),
        ),
        Mutation(
            "crashes-uncounted-while-snapshots-are-restored",
            "Crashes while a fold restored its snapshot were not counted.",
            in_file("worker/tasks/task.py", ("            if state.read_bytes:\n", "            if False:\n")),
            (f"{LOOP}::test_a_fold_that_kills_its_worker_while_it_restores_a_snapshot_fails_its_job",),
        ),
        Mutation(
            "hangs-reported-as-lack-of-memory",
            "A worker that its doctor had killed for a hang was reported as killed for lack of memory.",
            in_file("doctor/supervision/events.py", ('        return "hung"\n', '        return "memory"\n')),
            ("tests/doctor/supervision/test_events.py::test_only_an_exit_caused_by_the_process_itself_has_a_cause",),
        ),
        Mutation(
            "hangs-not-named-as-the-cause",
            "The message of a quarantined job did not distinguish a hang from a lack of memory.",
            in_file(
                "job/crashes.py",
                ('"hung: ended by its doctor after it made no progress"', '"killed by the kernel for lack of memory"'),
            ),
            ("tests/job/test_crashes.py::test_a_hang_is_distinguished_from_a_lack_of_memory",),
        ),
    ),
)

LARGE_JOINS = Attack(
    "joins that multiply rows",
    (
        Mutation(
            "joins-computed-at-once",
            "A join was computed in one piece, however much larger than its sides it was.",
            in_file("operators/expansion.py", ("return few and rows * right.widest <= slice_cells", "return True")),
            ("tests/plan/test_evaluate.py::test_every_slice_counts_as_progress",),
        ),
        Mutation(
            "joins-sliced-by-input-rows",
            "The slices of a join were bounded by the rows of its left side, not by those of its output.",
            in_file(
                "operators/expansion.py", ("ends = np.cumsum(self.cells)", "ends = np.arange(1, 1 + len(self.cells))")
            ),
            ("tests/operators/test_expansion.py::test_no_slice_exceeds_its_limit",),
        ),
        Mutation(
            "joins-gathered-before-aggregation",
            "All rows of a join were gathered before they were aggregated.",
            in_file("plan/evaluate.py", ("for rows in self.pieces(child):", "for rows in [self._gather(child)]:")),
            ("tests/plan/test_evaluate.py::test_a_join_of_nine_million_rows_takes_little_memory",),
        ),
    ),
)

LONG_TEXT = Attack(
    "texts that are slow to score",
    (
        Mutation(
            "vader-in-quadratic-time",
            "The time of VADER grew with the square of the number of words around a `but`.",
            in_file("scan/sentiment/rules.py", ("if but >= 0 and kept <= FEW_WORDS:", "if but >= 0 and kept >= 0:")),
            (f"{LONG_TEXTS}::test_vader_does_not_take_quadratic_time",),
        ),
        Mutation(
            "textblob-in-quadratic-time",
            "The time of TextBlob grew with the square of the length of a text.",
            in_file(
                "scan/sentiment/polarity.py",
                (
                    "    scores = _scores(_counted(_words(text)))\n",
                    "    if text:\n        return float(sentiment(text)[0])\n    scores = [0.0]\n",
                ),
            ),
            (f"{LONG_TEXTS}::test_textblob_does_not_take_quadratic_time",),
        ),
        Mutation(
            "heartbeats-missing-within-steps",
            "A worker sent no heartbeat during a step, and a doctor killed it as hung.",
            in_file("worker/process.py", ("listen(heartbeat.tick)", "listen(None)")),
            ("tests/worker/test_process.py::test_slices_of_a_step_send_heartbeats_and_count_as_progress",),
        ),
        Mutation(
            "heartbeats-missing-while-vader-scores",
            "VADER scored all texts of a part without a heartbeat.",
            in_file(
                "scan/sentiment/compound.py", ("        at = stop\n        progress.tick()\n", "        at = stop\n")
            ),
            (f"{LONG_TEXTS}::test_scores_are_ticked",),
        ),
        Mutation(
            "heartbeats-missing-while-textblob-scores",
            "TextBlob scored a text without a heartbeat.",
            in_file(
                "scan/sentiment/polarity.py",
                ("    if number % _TICK_WORDS == 0:\n", "    if number < 0:\n"),
                ("    if len(text) > _WINDOW:\n", "    if len(text) < 0:\n"),
            ),
            (f"{LONG_TEXTS}::test_scores_are_ticked",),
        ),
    ),
)

MANY_JOBS = Attack(
    "many open jobs",
    (
        Mutation(
            "file-limit-kept-by-workers",
            "A worker kept the soft limit of open files.",
            in_file(
                "worker/process.py",
                (
                    "from cauce.process.limits import raise_file_limit",
                    "from cauce.process.limits import file_limit as raise_file_limit",
                ),
            ),
            ("tests/chaos/test_few_descriptors.py::test_more_jobs_than_file_descriptors_all_complete",),
        ),
        Mutation(
            "file-limit-kept-by-doctors",
            "A doctor kept the soft limit of open files.",
            in_file("doctor/process.py", ("        raise_file_limit()\n", "")),
            ("tests/doctor/test_process.py::test_doctors_raise_their_limit_of_open_files",),
        ),
        Mutation(
            "file-limit-ends-operations",
            "At the limit of open files an operation failed, although cached descriptors could be closed.",
            in_file(
                "fabric/files/fabric.py",
                (
                    "            descriptors.clear()\n        return step()\n",
                    "            pass\n        return step()\n",
                ),
            ),
            ("tests/fabric/files/test_descriptors.py::test_cached_descriptors_are_closed_when_the_limit_is_reached",),
        ),
        Mutation(
            "leases-beyond-the-descriptors",
            "A worker could acquire more leases than it could open files.",
            in_file("worker/process.py", ("max(raise_file_limit() // LEASES_SHARE, 1)", "raise_file_limit()")),
            ("tests/worker/test_process.py::test_a_worker_holds_leases_for_a_share_of_the_files_that_it_may_open",),
        ),
        Mutation(
            "leases-without-limit",
            "A worker acquired leases without a limit.",
            in_file("worker/leases.py", ("            if self.taken >= most:\n", "            if False:\n")),
            (f"{LOOP}::test_the_lease_limit_holds_and_every_job_is_served",),
        ),
    ),
)

UNREADABLE_LOGS = Attack(
    "logs of one job that cannot be read",
    (
        Mutation(
            "damage-ends-workers",
            "An unreadable log of one job ended the worker, and with it the work on all jobs.",
            in_file(
                "worker/job_table.py",
                ("            self.set_aside(name, problem)\n\n    def _close", "            raise\n\n    def _close"),
            ),
            (
                f"{LOOP}::test_a_system_error_at_one_job_does_not_affect_the_others",
                f"{LOOP}::test_a_job_with_a_corrupt_log_does_not_affect_the_others",
            ),
            raises=("FabricError", "DecodeError"),
        ),
        Mutation(
            "damage-fails-jobs-at-once",
            "A transient error of the file system failed the job.",
            in_file(
                "worker/job_table.py", ("if is_transient(problem) and (aside is None or aside.may_retry):", "if False:")
            ),
            (f"{LOOP}::test_a_job_that_was_set_aside_resumes_after_a_transient_error",),
            raises=("JobFailed",),
        ),
        Mutation(
            "damage-hides-the-list-of-jobs",
            "An unreadable manifest of one job prevented the list of all jobs of its owner.",
            in_file(
                "gateway/jobs/progress/job_list.py",
                ("            yield Listed(0.0, owner, job, problem)\n", "            raise problem\n"),
            ),
            (
                "tests/gateway/jobs/test_damaged_jobs.py"
                "::test_a_damaged_job_is_listed_beside_the_others[replace_manifest_by_a_folder]",
            ),
            raises=("FabricError",),
        ),
        Mutation(
            "damage-of-logs-hides-the-list-of-jobs",
            "An unreadable log of one job prevented the list of all jobs of its owner.",
            in_file(
                "gateway/jobs/progress/job_list.py",
                ("return self._statuses.of_damaged(listed.owner, listed.job, problem)", "raise problem"),
            ),
            (
                "tests/gateway/jobs/test_damaged_jobs.py"
                "::test_a_damaged_job_is_listed_beside_the_others[replace_segments_by_folders]",
            ),
            raises=("FabricError",),
        ),
        Mutation(
            "damage-unlisted",
            "An unreadable job was missing from the list of jobs.",
            in_file(
                "gateway/jobs/progress/job_list.py",
                ("            yield Listed(0.0, owner, job, problem)\n", ""),
            ),
            (
                "tests/gateway/jobs/test_damaged_jobs.py"
                "::test_a_damaged_job_is_listed_beside_the_others[replace_manifest_by_a_folder]",
            ),
            raises=("KeyError",),
        ),
        Mutation(
            "damage-prevents-new-jobs",
            "An unreadable log of one job prevented that any owner created a job.",
            in_file(
                "gateway/jobs/job_service.py",
                (
                    "            # An unreadable job counts with its last known state, so that it does not prevent new "
                    "jobs.\n            pass\n",
                    "            raise\n",
                ),
            ),
            ("tests/gateway/jobs/test_damaged_jobs.py::test_a_damaged_job_does_not_prevent_new_jobs",),
            raises=("CorruptRecord",),
        ),
        Mutation(
            "damage-stops-the-sweep",
            "A sweep reported an error as long as one job was unreadable.",
            in_file(
                "gateway/jobs/job_end.py",
                (
                    "        except FabricError:\n            return False\n",
                    "        except FabricError:\n            raise\n",
                ),
            ),
            ("tests/gateway/jobs/test_damaged_jobs.py::test_a_damaged_job_is_listed_beside_the_others",),
            raises=("CorruptRecord",),
        ),
    ),
)

ATTACKS = (KILLED_WORKERS, LARGE_JOINS, LONG_TEXT, MANY_JOBS, UNREADABLE_LOGS)
