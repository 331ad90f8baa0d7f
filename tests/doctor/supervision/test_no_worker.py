"""The notice that no worker runs."""

from __future__ import annotations

import pytest

from cauce.doctor.model.status import ProcessStatus
from cauce.doctor.supervision.no_worker import no_report, no_worker, worker_count

DOCTOR = ProcessStatus("doctor-1", "doctor", "running")


def worker(number: int, state: str, why: str = "", in_s: float | None = None) -> ProcessStatus:
    return ProcessStatus(f"worker-{number}", "worker", state, reason=why, restart_in_s=in_s)


def text(*rows: ProcessStatus) -> str:
    found = no_worker([DOCTOR, *rows], "doctor-1", "DIR")
    assert found is not None
    return found.text


@pytest.mark.parametrize("state", ["running", "starting"])
def test_one_available_worker_is_enough(state: str) -> None:
    assert no_worker([DOCTOR, worker(1, "stopped"), worker(2, state)], "doctor-1", "DIR") is None


def test_stopped_workers_are_named_with_the_command_that_starts_them() -> None:
    assert text(worker(1, "stopped"), worker(2, "stopped")) == (
        "no worker is running: worker-1 and worker-2 are stopped; "
        "start them with ./cauce start worker-1 worker-2 --dir DIR"
    )


def test_a_crash_loop_is_named_with_its_reason() -> None:
    why = "it crashed 6 times, last: killed by SIGKILL"
    assert text(worker(1, "stopped"), worker(2, "restarting", why, 29.6)) == (
        f"no worker is running: worker-1 is stopped, worker-2 is restarting in 30 s ({why}); "
        "start them with ./cauce start worker-1 worker-2 --dir DIR"
    )


def test_a_worker_in_a_crash_loop_does_not_count_as_available() -> None:
    looping = ProcessStatus("worker-1", "worker", "starting", reason="killed by SIGKILL", crashes=7)
    assert text(looping) == "no worker is running: worker-1 is starting again after 7 crashes (killed by SIGKILL)"


def test_workers_that_no_operator_can_start_are_named_without_a_command() -> None:
    found = no_worker([worker(1, "hung")], "doctor-1", "DIR")
    assert found is not None
    assert (found.text, found.can_start) == ("no worker is running: worker-1 is hung", False)


@pytest.mark.parametrize(("doctor", "which"), [("doctor-1", "workers"), ("doctor-2@b", "workers@b")])
def test_a_service_scaled_to_no_workers(doctor: str, which: str) -> None:
    found = no_worker([DOCTOR], doctor, "DIR")
    assert found is not None
    command = f"./cauce scale {which}={worker_count()} --dir DIR"
    assert found.text == f"no worker is running: the service has 0 workers; add some with {command}"


def test_without_doctors_the_notice_names_the_silence_of_the_workers() -> None:
    assert no_report(31.2, "DIR").text == (
        "no worker has reported on this job within 31 s; if none is running, start one with ./cauce worker --dir DIR"
    )
