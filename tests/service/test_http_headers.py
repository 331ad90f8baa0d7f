"""Headers that every request with a body must have, and that every answer has."""

from __future__ import annotations

import pytest

from tests.service.running import Running


@pytest.mark.parametrize(
    "path",
    ["/v1/jobs", "/v1/jobs/none", "/healthz", "/readyz", "/openapi.json", "/metrics", "/nowhere", "/v1/datasets"],
)
def test_answers_are_not_cached_and_not_sniffed(service: Running, path: str) -> None:
    headers = service.get(path).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


def test_results_are_not_cached_and_not_sniffed(service: Running, done: str) -> None:
    for asked in ("", "?limit=1", "?format=csv"):
        headers = service.get(f"/v1/jobs/{done}/results/q1{asked}").headers
        assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


def test_files_of_the_page_may_be_cached(service: Running) -> None:
    assert service.get("/").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_json_must_be_sent_as_json(service: Running, kind: str | None) -> None:
    assert service.create("typed", queries=["q1"]).status in (200, 201)
    headers = {} if kind is None else {"Content-Type": kind}
    for method, path, body in (
        ("POST", "/v1/jobs/typed/tables/books/complete", b'{"parts": 1}'),
        ("PUT", "/v1/jobs/typed-2", b'{"dataset": "books"}'),
        ("PUT", "/v1/cluster/workers", b'{"running": true}'),
    ):
        assert service.ask(method, path, body, headers).what == (415, "unsupported-format")
