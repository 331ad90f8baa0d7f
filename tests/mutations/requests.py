"""Mutations of the defences of gateways against requests."""

from __future__ import annotations

from tests.mutations.mutation import Attack, Mutation, in_file

LIMITS = "tests/gateway/asgi/test_concurrency_limits.py"
BODIES = "tests/service/test_http_bodies.py"

CROWDING = Attack(
    "slow uploads, idle connections",
    (
        Mutation(
            "bodies-reserve-what-they-announce",
            "A body held memory for its announced length before it had arrived.",
            in_file(
                "gateway/asgi/request_body.py",
                (
                    "await _acquire_budget(reservation, len(chunk), window)",
                    "await _acquire_budget(reservation, content_length(request) or len(chunk), window)",
                ),
            ),
            (f"{LIMITS}::test_an_announced_body_holds_only_what_has_arrived",),
        ),
        Mutation(
            "bodies-may-trickle",
            "A body of one byte a second was received for ever.",
            in_file("gateway/asgi/request_body.py", ("if self._bytes >= self._pace.window_bytes:", "if size:")),
            ("tests/gateway/asgi/test_body_pace.py::test_a_body_below_the_minimum_rate_is_given_up",),
        ),
        Mutation(
            "bodies-occupy-all-requests",
            "Bodies that hardly arrived occupied all requests of a gateway.",
            in_file(
                "gateway/asgi/concurrency_limits.py",
                ('if full and not (kind == "requests" and self._evict_slow()):', "if full:"),
            ),
            (f"{LIMITS}::test_at_the_limit_the_slowest_body_of_the_busiest_owner_is_evicted",),
            raises=("HttpError",),
        ),
        Mutation(
            "event-streams-count-as-requests",
            "Idle event streams used up the limit of requests.",
            in_file("gateway/http/routes.py", ("exchange.permit.become_stream()", "pass")),
            (f"{BODIES}::test_concurrent_event_streams_above_the_limit_get_429",),
        ),
        Mutation(
            "event-streams-taken-by-one-owner",
            "One owner could open all event streams of a gateway.",
            in_file(
                "gateway/asgi/concurrency_limits.py",
                ('if owner not in ("", LOCAL) and self._open[kind, owner] >= self._per_owner[kind]:', "if False:"),
            ),
            ("tests/service/test_http_crowding.py::test_an_owner_cannot_take_all_event_streams",),
        ),
        Mutation(
            "health-routes-limited",
            "Health checks were refused at the limit of requests, and an orchestrator killed the gateway.",
            in_file("gateway/asgi/concurrency_limits.py", ("if path in UNLIMITED_PATHS:", "if not path:")),
            (f"{BODIES}::test_concurrent_requests_above_the_limit_get_429",),
        ),
    ),
)

ATTACKS = (CROWDING,)
