"""Tokens: who gets in, whose jobs are seen by whom, and what happens when a token is removed."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
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
        assert secret not in running.said()


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
def test_a_wrong_token_opens_nothing(remote: Running, given: str) -> None:
    header = {"Authorization": given.encode().decode("latin-1")}
    assert remote.ask("GET", "/v1/jobs", headers=header).what == (401, "unauthorized")


def test_a_wrong_token_opens_nothing_on_loopback_either(service: Running) -> None:
    assert service.ask("GET", "/v1/jobs", token="cauce_" + "a" * 43).what == (401, "unauthorized")


def test_without_a_token_only_this_machines_own_names_will_do(service: Running) -> None:
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


def test_a_token_works_from_its_making_to_its_removal(remote: Running, folder: Path) -> None:
    secret = token(folder, "create", "cleo").out.strip()
    assert remote.ask("GET", "/v1/jobs", token=secret).status == 200
    assert token(folder, "remove", "cleo").code == 0
    assert remote.ask("GET", "/v1/jobs", token=secret).what == (401, "unauthorized")


def test_tokens_are_kept_as_hashes_in_a_file_of_the_owners_alone(folder: Path, tokens: dict[str, str]) -> None:
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
def test_a_name_that_cannot_be_or_is_taken_is_wrong_usage(folder: Path, tokens: dict[str, str], name: str) -> None:
    assert token(folder, "create", name).code == 2


def test_removing_what_is_not_there_is_wrong_usage(folder: Path) -> None:
    outcome = token(folder, "remove", "nobody")
    assert outcome.code == 2
    assert "nobody" in outcome.err


def test_a_file_of_tokens_that_is_broken_lets_nobody_in(tmp_path: Path) -> None:
    secret = token(tmp_path, "create", "ana").out.strip()
    file = tmp_path / "service" / "tokens.json"
    with Running(tmp_path, "gateway") as gateway:
        assert gateway.ask("GET", "/v1/jobs", token=secret).status == 200
        kept = file.read_bytes()
        file.write_bytes(b"{")
        assert gateway.ask("GET", "/v1/jobs", token=secret).what == (401, "unauthorized")
        file.write_bytes(kept)
        until("the token to open again", lambda: gateway.ask("GET", "/v1/jobs", token=secret).status == 200, 5)
