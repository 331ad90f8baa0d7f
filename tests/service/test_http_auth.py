"""Tokens: who gets in, whose jobs are seen by whom, and what happens when a token is removed."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.running import Outcome, cauce
from tests.service.running import Reply, Running, until


def token(folder: Path, *arguments: str) -> Outcome:
    return cauce(folder, "token", *arguments, "--dir", str(folder / "service"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("owned")


@pytest.fixture(scope="module")
def tokens(folder: Path) -> dict[str, str]:
    return {name: token(folder, "create", name).out.strip() for name in ("ana", "ben")}


@pytest.fixture(scope="module")
def remote(folder: Path, tokens: dict[str, str]) -> Iterator[Running]:
    """A gateway that others than this machine could reach."""
    with Running(folder, "gateway", "--require-token") as running:
        yield running
    for secret in tokens.values():
        assert secret not in running.log_text()


def create(gateway: Running, job: str, secret: str) -> Reply:
    body = json.dumps({"dataset": "books", "queries": ["q1"]}).encode()
    return gateway.ask("PUT", f"/v1/jobs/{job}", body, {"Content-Type": "application/json"}, token=secret)


def test_beyond_loopback_a_token_is_needed(remote: Running, tokens: dict[str, str]) -> None:
    reply = remote.get("/v1/jobs")
    assert reply.what == (401, "unauthorized")
    assert reply.headers["www-authenticate"].startswith("Bearer")
    assert remote.ask("GET", "/v1/jobs", token=tokens["ana"]).status == 200
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        assert remote.get(path).status == 200


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Basic YTpi",
        "bearer cauce_" + "a" * 43,
        "Bearer cauce_" + "é" * 43,
        "x" * 9999,
    ],
)
def test_an_unknown_token_is_rejected(remote: Running, given: str) -> None:
    header = {"Authorization": given.encode().decode("latin-1")}
    assert remote.ask("GET", "/v1/jobs", headers=header).what == (401, "unauthorized")


def test_an_unknown_token_is_rejected_on_loopback(service: Running) -> None:
    assert service.ask("GET", "/v1/jobs", token="cauce_" + "a" * 43).what == (401, "unauthorized")


def test_without_a_token_only_loopback_host_names_are_accepted(service: Running) -> None:
    for host in ("localhost", "127.0.0.1", "[::1]:80", f"localhost:{service.port}"):
        assert service.ask("GET", "/v1/jobs", headers={"Host": host}).status == 200
    for host in ("evil.example", "evil.example:8080", "127.0.0.1.evil.example"):
        assert service.ask("GET", "/v1/jobs", headers={"Host": host}).what == (401, "unauthorized")


def test_anothers_job_does_not_exist(remote: Running, tokens: dict[str, str]) -> None:
    assert create(remote, "mine", tokens["ana"]).status == 201
    missing = remote.ask("GET", "/v1/jobs/nothing", token=tokens["ben"])
    for method, path, body in (
        ("GET", "", None),
        ("DELETE", "", None),
        ("GET", "/why", None),
        ("GET", "/events", None),
        ("GET", "/rejects", None),
        ("GET", "/results/q1", None),
        ("GET", "/tables/books", None),
        ("PUT", "/tables/books/parts/0", b"x"),
        ("POST", "/tables/books/complete", b'{"parts": 1}'),
    ):
        kind = "text/csv" if method == "PUT" else "application/json"
        sent = {"Content-Type": kind} if body is not None else {}
        reply = remote.ask(method, "/v1/jobs/mine" + path, body, sent, token=tokens["ben"])
        assert reply.what == (404, "no-such-job")
        assert reply.body == missing.body.replace(b"nothing", b"mine")
    assert remote.ask("GET", "/v1/jobs", token=tokens["ben"]).json()["jobs"] == []


def test_two_owners_may_use_the_same_id(remote: Running, tokens: dict[str, str]) -> None:
    assert create(remote, "same", tokens["ana"]).status == 201
    assert create(remote, "same", tokens["ben"]).status == 201
    assert remote.ask("DELETE", "/v1/jobs/same", token=tokens["ben"]).status == 200
    assert remote.ask("GET", "/v1/jobs/same", token=tokens["ana"]).json()["state"] == "created"


def test_the_operator_lists_the_jobs_of_all_owners_but_reads_no_answer(
    proxied: Running, tokens: dict[str, str]
) -> None:
    create(proxied, "hers", tokens["ana"])
    create(proxied, "his", tokens["ben"])
    proxied.create("own", "books", ["q1"])

    def listed(query: str, secret: str = "") -> dict[str, str]:
        jobs = proxied.ask("GET", f"/v1/jobs{query}", token=secret).json()["jobs"]
        return {each["job"]: each["owner"].partition("-")[0] for each in jobs}

    wanted = {"hers": "ana", "his": "ben", "own": "local"}
    assert wanted.items() <= listed("?all_owners=true").items()
    assert set(listed("").values()) == {"local"}
    assert set(listed("?all_owners=true", tokens["ana"]).values()) == {"ana"}
    for path in ("", "/results/q1", "/rejects", "/graph", "/sql"):
        assert proxied.ask("GET", f"/v1/jobs/hers{path}").status == 404
    assert proxied.ask("DELETE", "/v1/jobs/hers").status == 404


def test_a_token_works_from_its_making_to_its_removal(remote: Running, folder: Path) -> None:
    secret = token(folder, "create", "cleo").out.strip()
    assert remote.ask("GET", "/v1/jobs", token=secret).status == 200
    assert token(folder, "remove", "cleo").code == 0
    assert remote.ask("GET", "/v1/jobs", token=secret).what == (401, "unauthorized")


def test_tokens_are_stored_as_hashes_in_a_private_file(folder: Path, tokens: dict[str, str]) -> None:
    file = folder / "service" / "tokens.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert tokens["ana"] not in file.read_text()
    assert tokens["ana"].startswith("cauce_")
    assert len(tokens["ana"]) >= 46
    listed = token(folder, "list")
    assert listed.code == 0
    assert {line.split("\t")[0] for line in listed.out.splitlines()} >= {"ana", "ben"}
    as_json = json.loads(token(folder, "list", "--json").out)
    assert {entry["name"] for entry in as_json} >= {"ana", "ben"}
    assert tokens["ana"] not in listed.out


@pytest.mark.parametrize("name", ["local", "", "../x", "a.b", "a" * 33, "ä", "ana"])
def test_an_invalid_or_existing_name_is_a_usage_error(folder: Path, tokens: dict[str, str], name: str) -> None:
    assert token(folder, "create", name).code == 2


def test_removing_an_unknown_token_is_a_usage_error(folder: Path) -> None:
    outcome = token(folder, "remove", "nobody")
    assert outcome.code == 2
    assert "nobody" in outcome.err


def test_an_unreadable_token_file_rejects_every_token(tmp_path: Path) -> None:
    secret = token(tmp_path, "create", "ana").out.strip()
    file = tmp_path / "service" / "tokens.json"
    with Running(tmp_path, "gateway") as gateway:
        assert gateway.ask("GET", "/v1/jobs", token=secret).status == 200
        kept = file.read_bytes()
        file.write_bytes(b"{")
        assert gateway.ask("GET", "/v1/jobs", token=secret).what == (401, "unauthorized")
        file.write_bytes(kept)
        until("the token to open again", lambda: gateway.ask("GET", "/v1/jobs", token=secret).status == 200, 5)


def test_every_route_of_the_api_needs_a_token_where_tokens_are_required(remote: Running) -> None:
    described = remote.get("/openapi.json").json()["paths"]
    assert isinstance(described, dict)
    api = [(method, path) for path, methods in described.items() if path.startswith("/v1") for method in methods]
    assert len(api) > 15
    for method, path in api:
        if method != "head":
            concrete = path.replace("{seq}", "0").replace("{", "").replace("}", "")
            assert remote.ask(method.upper(), concrete).what == (401, "unauthorized"), path


@pytest.mark.parametrize(
    "header", ["Forwarded: for=10.0.0.1", "X-Forwarded-For: 10.0.0.1", "X-Real-IP: 10.0.0.1", "Via: 1.1 proxy"]
)
def test_a_request_through_a_proxy_needs_a_token(proxied: Running, tokens: dict[str, str], header: str) -> None:
    name, _, value = header.partition(": ")
    reply = proxied.ask("GET", "/v1/jobs", headers={name: value})
    assert reply.what == (401, "unauthorized")
    assert "proxy" in str(reply.json()["detail"])
    assert proxied.ask("GET", "/v1/jobs", headers={name: value}, token=tokens["ana"]).status == 200
    assert proxied.ask("GET", "/healthz", headers={name: value}).status == 200


@pytest.fixture(scope="module")
def proxied(folder: Path, tokens: dict[str, str]) -> Iterator[Running]:
    """A gateway on loopback that needs no token."""
    with Running(folder, "gateway") as running:
        yield running


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_sites_page_changes_nothing(proxied: Running, headers: dict[str, str]) -> None:
    sent = {"Content-Type": "application/json", **headers}
    reply = proxied.ask("PUT", "/v1/jobs/foreign", b'{"dataset": "books"}', sent)
    assert reply.what == (403, "cross-site")
    assert proxied.ask("DELETE", "/v1/jobs/foreign", headers=headers).what == (403, "cross-site")
    assert proxied.get("/v1/jobs/foreign").status == 404


def test_the_services_own_page_may_change_things(proxied: Running) -> None:
    for number, headers in enumerate(
        ({"Origin": proxied.url}, {"Sec-Fetch-Site": "same-origin", "Origin": "https://proxy.example"})
    ):
        sent = {"Content-Type": "application/json", **headers}
        assert proxied.ask("PUT", f"/v1/jobs/own-{number}", b'{"dataset": "books"}', sent).status == 201


def test_a_removed_token_ends_its_event_streams(remote: Running, folder: Path) -> None:
    secret = token(folder, "create", "dora").out.strip()
    headers = {"Authorization": f"Bearer {secret}"}
    for path in ("/v1/events", "/v1/jobs/streamed/events"):
        assert create(remote, "streamed", secret).status in (200, 201)
        stream = remote.http.request("GET", remote.url + path, headers=headers, preload_content=False)
        assert stream.status == 200
        assert token(folder, "remove", "dora").code == 0
        # Ends: the job has not ended, and a stream that went on would have no end.
        assert b"event:" in stream.read()
        secret = token(folder, "create", "dora").out.strip()
        headers = {"Authorization": f"Bearer {secret}"}


def test_a_removed_token_ends_its_long_polls(remote: Running, folder: Path) -> None:
    secret = token(folder, "create", "elsa").out.strip()
    assert create(remote, "polled", secret).status == 201
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(remote.ask, "GET", "/v1/jobs/polled/results/q1?wait=30&limit=1", token=secret)
        assert token(folder, "remove", "elsa").code == 0
        assert waiting.result().what == (401, "unauthorized")


def test_a_token_of_a_former_name_does_not_own_the_former_jobs(remote: Running, folder: Path) -> None:
    first = token(folder, "create", "finn").out.strip()
    assert create(remote, "private", first).status == 201
    assert token(folder, "remove", "finn").code == 0
    second = token(folder, "create", "finn").out.strip()
    assert remote.ask("GET", "/v1/jobs/private", token=second).what == (404, "no-such-job")
    assert remote.ask("GET", "/v1/jobs", token=second).json()["jobs"] == []


def test_a_token_of_an_older_version_owns_the_jobs_of_its_name(remote: Running, folder: Path) -> None:
    secret = token(folder, "create", "gina").out.strip()
    file = folder / "service" / "tokens.json"
    entries = json.loads(file.read_bytes())["tokens"]
    del entries["gina"]["owner"]
    file.write_text(json.dumps(entries))
    assert create(remote, "older", secret).json()["owner"] == "gina"
