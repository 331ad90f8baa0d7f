"""Mutations of the defences of stored data: full disks, versions, columnar files, clocks and losses of power."""

from __future__ import annotations

from tests.mutations.mutation import Attack, Mutation, in_file

TOMBSTONES = "tests/gateway/jobs/test_tombstones.py"
STORED_JOBS = "tests/gateway/jobs/test_stored_jobs.py"
ARROW = "tests/scan/formats/test_arrow_columns.py"
IDLENESS = "tests/gateway/jobs/test_idleness.py"
VERSIONS = "tests/fabric/test_versions.py"
TOKENS = "tests/gateway/test_tokens.py"
SERVICE_DIR = "tests/doctor/launch/test_service_dir.py"
FILES_JOBS = "tests/fabric/files/test_jobs.py"
FILES_LEASE = "tests/fabric/files/test_lease.py"
WORK_DIR = "tests/runner/test_work_dir.py"

FULL_DISK = Attack(
    "a full disk",
    (
        Mutation(
            "log-lines-end-processes",
            "A log line that could not be written on a full disk ended the process.",
            in_file("process/output.py", ('            self.lost += text.count(b"\\n")\n', "            raise\n")),
            (
                "tests/process/test_output.py::test_lines_lost_on_a_full_disk_are_counted_and_reported",
                "tests/process/test_output.py::test_a_closed_pipe_costs_log_lines_only",
            ),
        ),
        Mutation(
            "log-of-a-service-may-fail",
            "The log of a gateway or a doctor raised on a full disk.",
            in_file("process/telemetry/logs.py", ("    never_fail_on_output()\n", "")),
            ("tests/process/test_output.py::test_lines_lost_on_a_full_disk_are_counted_and_reported",),
        ),
        Mutation(
            "epoch-ends-doctors",
            "A doctor that could not write its epoch on a full disk exited.",
            in_file(
                "doctor/process.py", ("            self._epoch_due = now + EPOCH_BACKOFF_S\n", "            raise\n")
            ),
            ("tests/doctor/test_process.py::test_a_doctor_continues_if_its_epoch_cannot_be_written",),
            raises=("OSError",),
        ),
        Mutation(
            "deletion-needs-space",
            "A job could not be cancelled on a full disk, because its tombstone was written first.",
            in_file(
                "gateway/jobs/job_end.py",
                (
                    "        except FabricFull:\n            self._fabric.delete_job(name)\n",
                    "        except FabricFull:\n            raise\n            self._fabric.delete_job(name)\n",
                ),
            ),
            (f"{TOMBSTONES}::test_a_job_is_cancelled_without_space_for_its_tombstone",),
            raises=("FabricFull",),
        ),
        Mutation(
            "trimming-needs-space",
            "The logs of an ended job could not be removed on a full disk, because a file was written first.",
            in_file(
                "fabric/files/jobs.py",
                ("                if problem.errno not in FULL:\n", "                if problem.errno:\n"),
            ),
            (f"{FILES_JOBS}::test_a_job_is_trimmed_without_space_for_its_note",),
            raises=("FabricFull",),
        ),
        Mutation(
            "readyz-hides-a-full-disk",
            "/readyz reported a gateway as ready whose disk was full.",
            in_file("gateway/service.py", ("        if left < free_bytes:\n", "        if left < 0:\n")),
            ("tests/gateway/http/test_app.py::test_a_gateway_without_free_space_for_its_jobs_is_not_ready",),
        ),
    ),
)

OTHER_VERSIONS = Attack(
    "changed dataset files, damaged manifests and other versions",
    (
        Mutation(
            "answers-need-the-dataset",
            "The answers of a finished job could be read only with its dataset.",
            in_file(
                "gateway/jobs/read_model.py",
                (
                    "        outline = manifest.outline\n",
                    "        outline = Topology(manifest.plan(datasets), manifest.lanes, manifest.on).outline()\n",
                ),
            ),
            ("tests/golden/test_golden_logs.py::test_answers_of_a_completed_job_are_served_without_its_dataset",),
            raises=("DatasetMissing",),
        ),
        Mutation(
            "finished-jobs-fail-with-their-dataset",
            "A finished job was shown as failed after its dataset file had changed.",
            in_file(
                "gateway/jobs/statuses.py",
                ("problem = None if status.state in ENDED else view.plan_problem()", "problem = view.plan_problem()"),
            ),
            (f"{STORED_JOBS}::test_a_finished_job_stays_done_when_its_dataset_changes",),
        ),
        Mutation(
            "comments-change-plans",
            "A comment in a dataset file failed the open jobs.",
            in_file("plan/dataset.py", ("without_comments(self.source.read_bytes())", "self.source.read_bytes()")),
            (f"{STORED_JOBS}::test_a_changed_comment_in_the_dataset_does_not_affect_an_open_job",),
        ),
        Mutation(
            "emptied-manifests-count-as-deleted-jobs",
            "A job whose manifest was emptied was reported as expired.",
            in_file(
                "gateway/jobs/read_model.py",
                ("        return data\n\n    def tombstone", "        return data or None\n\n    def tombstone"),
            ),
            (f"{STORED_JOBS}::test_a_damaged_manifest_is_reported_and_can_be_removed",),
            raises=("NoSuchJob",),
        ),
        Mutation(
            "versions-unchecked",
            "A structure of a newer version was read as one of this version.",
            in_file("fabric/versions.py", ("            check_version(found, reads, what)\n", "            pass\n")),
            (
                f"{VERSIONS}::test_a_cluster_file_of_a_newer_version_is_refused",
                f"{VERSIONS}::test_tokens_of_a_newer_version_are_refused",
                f"{VERSIONS}::test_a_folder_of_a_newer_version_is_refused",
            ),
        ),
        Mutation(
            "versions-of-records-unchecked",
            "Records of a newer version were read as those of this version.",
            in_file("fabric/records.py", ("    if version != VERSION:\n", "    if version < 0:\n")),
            ("tests/fabric/test_records.py::test_another_version_is_refused",),
        ),
        Mutation(
            "version-of-the-fabric-unchecked",
            "A directory of a newer version of the files fabric was used.",
            in_file("fabric/files/jobs.py", ("            check_folder_version(root, self._trash, power=power)\n", "")),
            (f"{VERSIONS}::test_a_folder_of_a_newer_version_is_refused",),
        ),
    ),
)

COLUMNAR_FILES = Attack(
    "Parquet and Arrow with values that have no counterpart",
    (
        Mutation(
            "nested-values-are-null-texts",
            "Lists, structs and maps declared as text were read as nulls.",
            in_file(
                "scan/cells/decode.py",
                (
                    "        return all_bad(Text(), series)\n",
                    "        text = pl.Series(series.name, [None] * len(series), dtype=pl.String)\n",
                ),
            ),
            (f"{ARROW}::test_a_nested_value_declared_as_text_is_a_reject",),
            raises=("OutOfBoundsError",),
        ),
        Mutation(
            "nested-texts-not-checked",
            "A column of lists, structs or maps declared as text was never checked for rejects.",
            in_file(
                "scan/formats/frame_block.py",
                (
                    " or self._is_unreadable(name) or self._series(name).dtype.is_nested()",
                    " or self._is_unreadable(name)",
                ),
            ),
            (f"{ARROW}::test_a_nested_value_declared_as_text_is_a_reject",),
            raises=("OutOfBoundsError",),
        ),
        Mutation(
            "dates-beyond-the-calendar",
            "Dates beyond the year 9999 failed the job or were read as other dates.",
            in_file(
                "scan/cells/plain_text.py", ("return days.is_between(FIRST_DAY, LAST_DAY)", "return days.is_not_null()")
            ),
            (f"{ARROW}::test_a_date_beyond_the_year_9999_is_a_reject_of_its_line",),
        ),
        Mutation(
            "wide-decimals-unread",
            "decimal256 was not read, although its values fit.",
            in_file("scan/formats/arrow_columns.py", ("    if types.is_decimal256(kind):\n", "    if False:\n")),
            (f"{ARROW}::test_a_wide_decimal_is_read_if_it_fits_the_kind",),
        ),
        Mutation(
            "unsupported-types-fail-jobs",
            "A column of a type that Polars does not support failed the job.",
            in_file(
                "scan/formats/arrow_columns.py",
                ("if not _is_taken(kind) or not all(_is_sound(chunk) for chunk in column.chunks):", "if False:"),
            ),
            (f"{ARROW}::test_a_cell_is_a_value_or_a_reject",),
            raises=("PanicException",),
        ),
        Mutation(
            "seconds-overflow",
            "Times in seconds far beyond the calendar overflowed to other times.",
            in_file(
                "scan/formats/arrow_columns.py", ('if types.is_timestamp(kind) and kind.unit == "s":', "if False:")
            ),
            (f"{ARROW}::test_seconds_that_would_overflow_are_rejects",),
        ),
    ),
)

CLOCKS = Attack(
    "a clock that is set",
    (
        Mutation(
            "clock-steps-expire-uploads",
            "Setting the clock forward expired uploads and removed answers.",
            in_file(
                "gateway/jobs/idleness.py",
                (
                    "return beyond_s >= 0 and (self._clock() >= expiry.expires or beyond_s >= expiry.limit_s)",
                    "return self._clock() >= expiry.expires",
                ),
            ),
            (
                f"{IDLENESS}::test_a_clock_set_forward_makes_nothing_overdue",
                f"{TOMBSTONES}::test_a_clock_that_is_set_forward_expires_no_upload",
            ),
        ),
        Mutation(
            "clock-steps-back-keep-jobs-for-ever",
            "After the clock was set back, jobs did not expire for as long.",
            in_file("gateway/jobs/idleness.py", (" or beyond_s >= expiry.limit_s)", ")")),
            (f"{IDLENESS}::test_a_step_back_delays_by_the_limit_at_most",),
        ),
        Mutation(
            "clock-steps-remove-tombstones",
            "Setting the clock forward removed all tombstones.",
            in_file(
                "gateway/jobs/idleness.py", ("        if wall <= self._offset_s + moment:\n", "        if wall:\n")
            ),
            (f"{IDLENESS}::test_a_wall_clock_that_stays_ahead_is_accepted",),
        ),
    ),
)

POWER = Attack(
    "a loss of power (`--power-safe`)",
    (
        Mutation(
            "power-loses-the-parents-of-the-fabric",
            "The directories above the fabric were not synced.",
            in_file(
                "fabric/files/jobs.py",
                ("                sync_with_parents(Path(root))\n", "                sync_directory(root)\n"),
            ),
            (f"{FILES_JOBS}::test_with_power_the_folders_above_the_root_are_forced",),
        ),
        Mutation(
            "power-loses-parents",
            "Only the directory itself was synced, not those above it.",
            in_file(
                "process/private_files.py", ("for directory in (path, *path.parents):", "for directory in (path,):")
            ),
            ("tests/process/test_private_files.py::test_a_directory_is_forced_with_everything_above_it",),
        ),
        Mutation(
            "power-loses-renamed-files",
            "The directory of a replaced file was not synced.",
            in_file("process/private_files.py", ("    if durable:\n        sync_directory(path.parent)\n", "")),
            (
                "tests/process/test_private_files.py"
                "::test_a_durable_file_is_forced_then_renamed_then_its_directory_is_forced",
            ),
        ),
        Mutation(
            "power-loses-the-cluster",
            "cluster.json was not synced.",
            in_file("doctor/launch/service_dir.py", ('durable=cluster.durability == "power")', "durable=False)")),
            (f"{SERVICE_DIR}::test_with_durability_power_the_cluster_and_the_epoch_are_synced",),
        ),
        Mutation(
            "power-loses-the-epoch",
            "The epoch of a doctor was not synced.",
            in_file(
                "doctor/launch/service_dir.py",
                ("msgspec.json.encode(epoch), durable=durable)", "msgspec.json.encode(epoch))"),
            ),
            (f"{SERVICE_DIR}::test_with_durability_power_the_cluster_and_the_epoch_are_synced",),
            raises=("ValueError",),
        ),
        Mutation(
            "power-loses-the-directory-of-tokens",
            "The directories above the token file were not synced.",
            in_file("gateway/tokens.py", ("    sync_with_parents(folder)\n", "")),
            (f"{TOKENS}::test_a_token_is_durable_with_the_folders_above_it",),
        ),
        Mutation(
            "power-loses-tokens",
            "The token file was not synced.",
            in_file("gateway/tokens.py", ("replace_file(path, content, durable=True)", "replace_file(path, content)")),
            (f"{TOKENS}::test_a_token_is_durable_with_the_folders_above_it",),
            raises=("ValueError",),
        ),
        Mutation(
            "power-loses-the-note-of-a-trimmed-job",
            "The note on the remaining logs of a trimmed job was not synced before the logs were removed.",
            in_file("fabric/files/jobs.py", (".encode(), durable=self._power)", ".encode())")),
            (f"{FILES_JOBS}::test_with_power_the_note_of_a_trimmed_job_is_forced_before_its_logs_go",),
            raises=("ValueError",),
        ),
        Mutation(
            "power-loses-tasks-of-another-process",
            "A task that another process had created was confirmed without a sync.",
            in_file(
                "fabric/files/lease.py",
                (
                    "                sync_directory(self.folder)\n            return\n",
                    "                pass\n            return\n",
                ),
            ),
            (f"{FILES_LEASE}::test_with_power_a_task_of_another_process_is_synced_before_it_is_confirmed",),
        ),
        Mutation(
            "power-tears-the-tag-of-a-work-folder",
            "The tag of a work folder was not synced, so that no run could resume in it.",
            in_file(
                "process/private_files.py", ("_tag(path / TAG, durable=durable)", "_tag(path / TAG, durable=False)")
            ),
            (f"{WORK_DIR}::test_with_durability_the_tag_is_synced",),
        ),
        Mutation(
            "power-leaves-half-of-a-removed-job",
            "The jobs of a completed run were removed in place, so that the next run resumed half of one.",
            in_file("runner/work_dir.py", ("            self._retire_jobs()\n", "            pass\n")),
            (f"{WORK_DIR}::test_an_interrupted_removal_leaves_no_job_to_resume",),
        ),
    ),
)

ATTACKS = (FULL_DISK, OTHER_VERSIONS, COLUMNAR_FILES, CLOCKS, POWER)
