"""A service on which no worker runs names that, wherever a job or the service is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.doctor.control import update_desired_state
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.desired_state import count_key, hold_key
from tests.cli.running import Outcome, cauce
from tests.service.conftest import QUERIES, Case
from tests.service.running import Running, until

WORKERS = ["worker-1", "worker-2"]


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of its own, without a worker at work at the start of each test."""
    with Running(tmp_path_factory.mktemp("idle"), "serve", "--workers", "2", "--gateways", "1") as running:
        yield running


def notice(service: Running) -> str:
    found = service.get("/v1/cluster").json()["no_worker"]
    return str(found["text"]) if isinstance(found, dict) else ""


def stop_workers(service: Running) -> str:
    """The notice that follows."""
    assert cauce(service.folder, "stop", *WORKERS, "--dir", str(service.folder)).code == 0
    until("no worker to run", lambda: "worker-1 and worker-2 are stopped" in notice(service))
    return notice(service)


def run_workers(service: Running) -> None:
    update_desired_state(
        ServiceDir(service.folder), {count_key("worker"): "2", **{hold_key(name): "" for name in WORKERS}}
    )
    until("a worker to run", lambda: not notice(service))


def submitted(service: Running, case: Case, job: str) -> None:
    assert service.create(job, queries=QUERIES).status == 201
    service.upload(job, case.pieces)


def asked(service: Running, *command: str) -> Outcome:
    return cauce(service.folder, *command, "--gateway", service.url)


def test_stopped_workers_are_named_in_job_and_service_status(idle: Running, case: Case) -> None:
    text = stop_workers(idle)
    folder = idle.folder
    assert text == (
        "no worker is running: worker-1 and worker-2 are stopped; "
        f"start them with ./cauce start worker-1 worker-2 --dir {folder}"
    )
    submitted(idle, case, "waiting")
    until("the notice", lambda: "are stopped" in str(idle.get("/v1/jobs/waiting").json()["no_worker"]))
    assert idle.get("/v1/jobs/waiting/why").json()["why"] == f"job waiting waits for a worker: {text}"
    assert idle.get("/v1/jobs/waiting/graph").json()["why"] == f"job waiting waits for a worker: {text}"
    assert idle.get("/v1/jobs/waiting").json()["no_worker"] == {"text": text, "can_start": True}
    assert asked(idle, "why", "waiting").out == f"job waiting waits for a worker: {text}\n"
    assert text in asked(idle, "status", "waiting").out
    named = text.replace("no worker", "No worker")
    assert named in " ".join(asked(idle, "status").out.split())
    assert named in " ".join(cauce(folder, "status", "--dir", str(folder)).out.split())
    run_workers(idle)
    idle.wait_done("waiting")
    assert idle.get("/v1/jobs/waiting").json()["no_worker"] is None


def test_a_service_without_workers_is_ready_with_a_notice(idle: Running) -> None:
    stop_workers(idle)
    until("the notice", lambda: "are stopped" in str(idle.get("/readyz").json().get("notice")))
    reply = idle.get("/readyz")
    assert reply.status == 200
    assert reply.json() == {
        "status": "ready",
        "notice": "no worker is running: worker-1 and worker-2 are stopped; "
        "start them with ./cauce start worker-1 worker-2 --dir DIR",
    }
    run_workers(idle)
    until("no notice", lambda: idle.get("/readyz").json() == {"status": "ready"})


def test_the_workers_can_be_started_over_http(idle: Running) -> None:
    stop_workers(idle)
    assert idle.send_json("PUT", "/v1/cluster/workers", {"running": False}).what == (422, "bad-request")
    assert idle.send_json("PUT", "/v1/cluster/workers", {"running": True}).json() == {"workers": WORKERS}
    until("a worker to run", lambda: not notice(idle))


def test_a_worker_is_stopped_and_started_over_http(idle: Running) -> None:
    path = "/v1/cluster/processes/worker-1"

    def state() -> str:
        processes = idle.get("/v1/cluster").json()["processes"]
        assert isinstance(processes, list)
        return str(next(each["state"] for each in processes if each["name"] == "worker-1"))

    assert idle.send_json("PUT", path, {"running": True}).json() == {"name": "worker-1", "running": True}
    until("worker-1 to run", lambda: state() == "running")
    assert idle.send_json("PUT", path, {"running": False}).json() == {"name": "worker-1", "running": False}
    until("worker-1 to stop", lambda: state() == "stopped")


def test_the_only_gateway_cannot_be_stopped_over_http(idle: Running) -> None:
    reply = idle.send_json("PUT", "/v1/cluster/processes/gateway-1", {"running": False})
    assert reply.what == (409, "last-gateway")


def test_a_service_scaled_to_no_workers_names_the_command_and_can_be_given_some(idle: Running, case: Case) -> None:
    assert cauce(idle.folder, "scale", "workers=0", "--dir", str(idle.folder)).code == 0
    until("no worker to run", lambda: "the service has 0 workers; add some with ./cauce scale workers=" in notice(idle))
    submitted(idle, case, "later")
    until("the notice", lambda: "the service has 0 workers" in str(idle.get("/v1/jobs/later/why").json()["why"]))
    assert idle.send_json("PUT", "/v1/cluster/workers", {"running": True}).status == 200
    until("a worker to run", lambda: not notice(idle))
    idle.wait_done("later")
    run_workers(idle)


@pytest.mark.slow
def test_a_standalone_gateway_reports_that_no_worker_runs_a_job(tmp_path: Path, case: Case) -> None:
    with Running(tmp_path, "gateway") as alone:
        assert alone.get("/readyz").json() == {"status": "ready"}
        submitted(alone, case, "lonely")
        assert alone.get("/v1/jobs/lonely").json()["no_worker"] is None

        def why() -> str:
            return str(alone.get("/v1/jobs/lonely/why").json()["why"])

        until("the notice", lambda: why().startswith("job lonely waits for a worker: no worker has reported"))
        assert f"start one with ./cauce worker --dir {alone.folder}" in why()
        assert alone.send_json("PUT", "/v1/cluster/workers", {"running": True}).status == 404


@pytest.mark.slow
def test_a_token_shows_neither_folders_nor_how_to_start_workers(tmp_path: Path) -> None:
    made = cauce(tmp_path, "token", "create", "ana", "--dir", str(tmp_path / "service"))
    with Running(tmp_path, "serve", "--workers", "0", "--gateways", "1") as service:
        service.token = made.out.strip()
        until("the notice", lambda: "0 workers" in notice(service))
        found = service.get("/v1/cluster").json()["no_worker"]
        assert isinstance(found, dict)
        assert str(found["text"]).endswith("--dir DIR")
        assert found["can_start"] is False
        assert service.get("/v1/cluster").json()["operator"] is False
        assert service.send_json("PUT", "/v1/cluster/processes/gateway-1", {"running": False}).status == 404
        assert service.get("/v1/cluster/processes/gateway-1/log?search=started").status == 404
        assert service.send_json("PUT", "/v1/cluster/workers", {"running": True}).status == 404
