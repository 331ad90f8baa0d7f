"""Mutations of the defences of gateways against requests."""

from __future__ import annotations

from tests.mutations.mutation import Attack, Mutation, in_file

LIMITS = "tests/gateway/asgi/test_application.py"
BODIES = "tests/service/test_http_bodies.py"
REDACTION = "tests/gateway/test_redaction.py"
AUTH = "tests/gateway/http/test_auth.py"
APP = "tests/gateway/http/test_app.py"
TENANTS = "tests/gateway/dashboard/test_tenants.py"
PUBLIC_TEXT = "tests/gateway/test_public_text.py"
TOMBSTONES = "tests/gateway/jobs/test_tombstones.py"
STORED_JOBS = "tests/gateway/jobs/test_stored_jobs.py"
BROKEN_DATASETS = "tests/gateway/test_broken_datasets.py"

CROWDING = Attack(
    "slow uploads, idle connections",
    (
        Mutation(
            "bodies-reserve-what-they-announce",
            "A body held memory for its announced length before it had arrived.",
            in_file(
                "gateway/asgi/request_body.py",
                ("deadline += await self.acquire(len(chunk))", "deadline += await self.acquire(limit.most_bytes)"),
            ),
            (f"{LIMITS}::test_an_announced_body_holds_only_what_has_arrived",),
        ),
        Mutation(
            "bodies-may-trickle",
            "A body of one byte a second was received for ever.",
            in_file("gateway/asgi/request_body.py", ("if window_bytes >= limit.pace.window_bytes:", "if chunk:")),
            ("tests/gateway/asgi/test_body_pace.py::test_a_body_below_the_minimum_rate_is_given_up",),
        ),
        Mutation(
            "bodies-occupy-all-requests",
            "Bodies that hardly arrived occupied all requests of a gateway.",
            in_file(
                "gateway/asgi/application.py",
                ('if full and not (kind == "requests" and self._evict_slow()):', "if full:"),
            ),
            (f"{LIMITS}::test_at_the_limit_the_slowest_body_of_the_busiest_owner_is_evicted",),
            raises=("HttpError",),
        ),
        Mutation(
            "event-streams-count-as-requests",
            "Idle event streams used up the limit of requests.",
            in_file("gateway/http/auth.py", ("exchange.become_stream()", "pass")),
            (f"{BODIES}::test_concurrent_event_streams_above_the_limit_get_429",),
        ),
        Mutation(
            "event-streams-taken-by-one-owner",
            "One owner could open all event streams of a gateway.",
            in_file(
                "gateway/asgi/application.py",
                ('if owner not in ("", LOCAL) and self._open[kind, owner] >= self._per_owner[kind]:', "if False:"),
            ),
            ("tests/service/test_http_crowding.py::test_an_owner_cannot_take_all_event_streams",),
        ),
        Mutation(
            "health-routes-limited",
            "Health checks were refused at the limit of requests, and an orchestrator killed the gateway.",
            in_file("gateway/asgi/application.py", ("if exchange.path in UNLIMITED_PATHS:", "if not exchange.path:")),
            (f"{BODIES}::test_concurrent_requests_above_the_limit_get_429",),
        ),
    ),
)

OTHER_TENANTS = Attack(
    "read, list, cancel or guess the jobs of another",
    (
        Mutation(
            "cluster-names-jobs-of-others",
            "The state of processes named the jobs of other tenants.",
            in_file("gateway/redaction.py", ("return not job or (bool(owner) and owner == reader)", "return True")),
            (f"{REDACTION}::test_others_see_the_reason_and_nothing_of_the_work",),
        ),
        Mutation(
            "cluster-shows-logs-to-tenants",
            "Events contained the last lines of a process's log, which may name any job.",
            in_file("gateway/redaction.py", ('reason=without_folders(event.reason), last="")', "reason=event.reason)")),
            (f"{REDACTION}::test_an_owner_sees_the_work_on_their_jobs",),
        ),
        Mutation(
            "cluster-route-unredacted",
            "/v1/cluster showed the work of processes on the jobs of other tenants.",
            in_file("gateway/dashboard/cluster_routes.py", ("rows_for(owner, body.processes)", "body.processes")),
            (f"{TENANTS}::test_the_work_of_another_owner_is_hidden_on_every_route[/v1/cluster]",),
        ),
        Mutation(
            "cluster-events-unredacted",
            "/v1/cluster/events showed the jobs of other tenants.",
            in_file("gateway/dashboard/cluster_routes.py", ("events_for(owner, page.events)", "page.events")),
            (f"{TENANTS}::test_the_work_of_another_owner_is_hidden_on_every_route[/v1/cluster/events]",),
        ),
        Mutation(
            "cluster-stream-unredacted",
            "/v1/cluster/live showed the work of processes on the jobs of other tenants.",
            in_file("gateway/dashboard/cluster_live.py", ("rows_for(owner, body.processes)", "body.processes")),
            (f"{TENANTS}::test_both_kinds_of_event_of_the_stream_are_hidden",),
        ),
        Mutation(
            "cluster-stream-of-events-unredacted",
            "/v1/cluster/live showed events with the jobs of other tenants.",
            in_file("gateway/dashboard/cluster_live.py", ("events_for(owner, page.events)", "page.events")),
            (f"{TENANTS}::test_both_kinds_of_event_of_the_stream_are_hidden",),
        ),
        Mutation(
            "tenants-stop-processes",
            "A client with a token could stop and start the processes of the service.",
            in_file(
                "gateway/dashboard/cluster_routes.py",
                ("if owner != LOCAL or not is_name(name) or", "if not is_name(name) or"),
            ),
            (f"{TENANTS}::test_a_tenant_cannot_stop_a_process",),
        ),
        Mutation(
            "event-reasons-name-jobs",
            "The reason of an event named the job of the process, so that it could not be hidden.",
            in_file(
                "doctor/supervision/reconciler.py",
                (
                    "instance.generation, health.why, _held(instance))",
                    'instance.generation, f"{health.why}; it held {_held(instance)}", _held(instance))',
                ),
            ),
            ("tests/doctor/supervision/test_core.py::test_no_reason_of_an_event_names_the_job_of_its_process",),
        ),
        Mutation(
            "tokens-of-a-former-name-own-its-jobs",
            "A token with the name of a removed one owned the former jobs.",
            in_file("gateway/tokens.py", ("return name[: MOST_OWNER - len(suffix)] + suffix", "return name")),
            ("tests/gateway/test_tokens.py::test_a_token_of_a_former_name_has_another_owner",),
        ),
        Mutation(
            "removed-tokens-keep-their-streams",
            "An event stream continued after its token was removed.",
            in_file(
                "gateway/http/auth.py",
                ("return not self.token or _owner_of(self.tokens, self.token) == self.owner", "return True"),
            ),
            (f"{AUTH}::test_an_event_stream_ends_when_its_token_is_removed",),
            raises=("TimeoutError",),
        ),
        Mutation(
            "removed-tokens-keep-their-downloads",
            "A download continued after its token was removed.",
            in_file(
                "gateway/http/auth.py",
                ("                guarded = _chunks_while_valid\n", "                return response\n"),
            ),
            (f"{AUTH}::test_a_download_is_aborted_when_its_token_is_removed",),
        ),
        Mutation(
            "errors-show-folders",
            "Problem documents contained absolute paths of the service's machine.",
            in_file(
                "gateway/asgi/problems.py",
                (
                    'without_folders(detail.encode("utf-8", "backslashreplace").decode())',
                    'detail.encode("utf-8", "backslashreplace").decode()',
                ),
            ),
            (f"{PUBLIC_TEXT}::test_a_problem_document_names_no_folder",),
        ),
        Mutation(
            "causes-show-folders",
            "The cause of a failed job contained absolute paths of the service's machine.",
            in_file(
                "gateway/jobs/statuses.py", ("without_folders(outcome.cause) if outcome", "outcome.cause if outcome")
            ),
            (f"{PUBLIC_TEXT}::test_the_cause_of_a_failed_job_names_no_folder",),
        ),
        Mutation(
            "datasets-show-folders",
            "The list of datasets contained absolute paths of the service's machine.",
            in_file("gateway/jobs/catalogue.py", ("without_folders(reason(problem))", "reason(problem)")),
            (f"{PUBLIC_TEXT}::test_a_dataset_that_is_broken_or_gone_is_shown_without_its_folder",),
        ),
        Mutation(
            "tombstones-unbounded",
            "Tombstones of cancelled jobs were kept without a bound.",
            in_file(
                "gateway/jobs/tombstones.py",
                (
                    "return sorted(alike | {BucketId(day, beyond, 0)})[-BUCKETS:]",
                    "return sorted(alike | {BucketId(day, beyond, 0)})",
                ),
            ),
            (f"{TOMBSTONES}::test_the_oldest_tombstones_are_dropped_first",),
        ),
        Mutation(
            "tombstones-displace-those-of-others",
            "An owner who cancelled many jobs displaced the tombstones of others.",
            in_file("gateway/jobs/tombstones.py", ("shared[-1] if used < SHARE else", "shared[-1] if used >= 0 else")),
            (f"{TOMBSTONES}::test_an_owner_displaces_no_tombstones_of_others",),
        ),
        Mutation(
            "lists-without-pages",
            "The list of jobs returned all jobs and tombstones at once.",
            in_file("gateway/jobs/progress/job_list.py", ("page = found[:limit]", "page = found")),
            (f"{TOMBSTONES}::test_jobs_and_tombstones_are_listed_by_pages",),
        ),
    ),
)

LOCAL_REQUESTS = Attack(
    "requests without a token",
    (
        Mutation(
            "require-token-ignored",
            "--require-token had no effect on loopback.",
            in_file(
                "service/gateway_options.py",
                ("remote = given.require_token or needs_token(bound)", "remote = needs_token(bound)"),
            ),
            ("tests/service/test_gateway_options.py::test_tokens_can_be_required_on_loopback",),
        ),
        Mutation(
            "proxied-requests-are-local",
            "A request through a proxy on the same machine counted as local and needed no token.",
            in_file("gateway/http/auth.py", ("forwarded = _forwarding_header(request)", "forwarded = None")),
            (f"{AUTH}::test_a_request_with_a_header_of_any_proxy_needs_a_token",),
        ),
        Mutation(
            "proxies-known-by-few-headers",
            "Only the oldest headers of proxies were recognized.",
            in_file(
                "gateway/http/auth.py",
                (
                    "return name in _FORWARDING or name.startswith(_FORWARDING_PREFIXES) or "
                    "name.endswith(_FORWARDING_SUFFIXES)",
                    "return name in _FORWARDING",
                ),
            ),
            (f"{AUTH}::test_a_request_with_a_header_of_any_proxy_needs_a_token",),
        ),
    ),
)

OTHER_SITES = Attack(
    "pages of other sites in a tenant's browser",
    (
        Mutation(
            "cross-site-requests-accepted",
            "The page of another site could create and cancel jobs.",
            in_file("gateway/http/auth.py", ("        _reject_cross_site(request)\n", "")),
            (f"{AUTH}::test_a_request_of_another_sites_page_is_refused",),
        ),
        Mutation(
            "host-names-unchecked",
            "A page could reach a local gateway under its own host name (DNS rebinding).",
            in_file("gateway/http/auth.py", ("if host and not is_loopback(host):", "if False:")),
            (f"{AUTH}::test_a_request_without_a_token_must_name_a_loopback_host",),
        ),
        Mutation(
            "json-of-any-content-type",
            "A form of another site could complete a table: JSON was accepted with any content type.",
            in_file("gateway/asgi/application.py", ("if media_type != JSON:", "if False:")),
            (f"{APP}::test_a_form_of_a_page_is_not_taken_for_json",),
        ),
        Mutation(
            "answers-cached",
            "Answers could be kept in shared caches.",
            in_file("gateway/asgi/application.py", ('b"cache-control": b"no-store", ', "")),
            (f"{APP}::test_a_response_is_neither_cached_nor_sniffed",),
        ),
        Mutation(
            "answers-sniffed",
            "A browser could take an answer for a page.",
            in_file(
                "gateway/asgi/application.py", ('b"no-store", b"x-content-type-options": b"nosniff"}', 'b"no-store"}')
            ),
            (f"{APP}::test_a_response_is_neither_cached_nor_sniffed",),
        ),
    ),
)

FOREIGN_DATASETS = Attack(
    "a job on a dataset that the operator does not offer, or whose file was written into the fabric",
    (
        Mutation(
            "manifests-name-files-to-run",
            "A process executed any file that the manifest of a job named.",
            in_file(
                "datasets/registry.py",
                (
                    "if name not in self._sources():",
                    'if name not in self._sources() and not name.endswith(".py"):',
                ),
                (
                    "        file = self._sources()[name]\n",
                    '        if name.endswith(".py"):\n            return load(name)\n'
                    "        file = self._sources()[name]\n",
                ),
            ),
            (
                "tests/datasets/test_registry.py::test_a_path_is_never_loaded",
                f"{STORED_JOBS}::test_no_file_is_executed_because_a_manifest_names_it",
            ),
        ),
        Mutation(
            "manifests-without-a-digest-of-the-dataset",
            "A job continued with other code of its dataset.",
            in_file("job/manifest.py", ("if self.source and dataset.version != self.source:", "if False:")),
            (
                "tests/job/test_manifest.py::test_other_code_in_the_file_is_a_mismatch",
                f"{STORED_JOBS}::test_other_code_in_the_dataset_fails_an_open_job_with_the_reason",
            ),
        ),
        Mutation(
            "plans-not-compared",
            "A process worked on a job although it planned its queries in another way.",
            in_file("job/manifest.py", ("if plan.digest != self.digest:", "if False:")),
            ("tests/worker/test_loop.py::test_another_plan_is_refused",),
        ),
    ),
)

EXITING_DATASETS = Attack(
    "dataset files that exit",
    (
        Mutation(
            "exits-of-dataset-files-end-the-process",
            "sys.exit() in a dataset file ended the gateway that loaded it.",
            in_file(
                "datasets/__init__.py", ("except (Exception, SystemExit) as problem:", "except Exception as problem:")
            ),
            (f"{BROKEN_DATASETS}::test_a_file_that_becomes_broken_and_is_corrected[exits]",),
            raises=("SystemExit",),
        ),
        Mutation(
            "exits-of-queries-end-the-process",
            "sys.exit() in a query of a dataset file ended the process that planned it.",
            in_file("plan/dataset.py", ("except (Exception, SystemExit) as problem:", "except Exception as problem:")),
            ("tests/plan/checks/test_mistakes.py::test_a_mistake_in_a_query[exit]",),
            raises=("SystemExit",),
        ),
        Mutation(
            "exits-of-functions-end-workers",
            "sys.exit() in a function of a query ended the worker.",
            in_file(
                "worker/job_table.py", ("pl.exceptions.PanicException, SystemExit)", "pl.exceptions.PanicException)")
            ),
            ("tests/worker/test_loop.py::test_a_function_that_exits_fails_only_its_job",),
            raises=("SystemExit",),
        ),
    ),
)

ATTACKS = (CROWDING, OTHER_TENANTS, LOCAL_REQUESTS, OTHER_SITES, FOREIGN_DATASETS, EXITING_DATASETS)
