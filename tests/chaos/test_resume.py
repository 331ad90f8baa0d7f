"""A run that is killed or terminated leaves no process behind, and the same command resumes it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from cauce.lab.chaos.processes import kill
from cauce.worker.journal import JournalState
from tests.chaos.conftest import Case
from tests.chaos.running import Run, answers, done_parts, journal_bytes, journals, none_left
from tests.cli.running import Outcome, cauce

pytestmark = pytest.mark.slow

SOME_BYTES = 4_000
"""Bytes of journals: some dozens of parts are complete, and most are not."""


def catch(run: Run, work: Path, beyond: int = 0) -> None:
    """Waits until the run is in progress: it has completed some parts, and a worker processes the next ones."""
    run.until("work was noted", lambda: journal_bytes(work) > beyond + SOME_BYTES)
    run.until("a worker held a lease", lambda: bool(run.workers()))


def kill_in_the_middle(case: Case) -> dict[str, JournalState]:
    before = journal_bytes(case.work)
    with Run(case.folder, *case.arguments()) as run:
        catch(run, case.work, before)
        everyone = [each.pid for each in run.everyone()]
        assert len(everyone) == 4, "a run, its prefork server and two workers"
        run.signal(signal.SIGKILL)
        assert run.end().code == -signal.SIGKILL
        none_left(everyone)
    assert answers(case.out) == {}
    return journals(case.work)


def finish(case: Case) -> Outcome:
    outcome = cauce(case.folder, "run", *case.arguments())
    assert outcome.code == 0, outcome.err
    assert answers(case.out) == case.wanted
    assert not case.work.exists()
    return outcome


def test_killed_run_resumes(case: Case) -> None:
    first = kill_in_the_middle(case)
    second = kill_in_the_middle(case)
    done = done_parts(first)
    assert done
    assert done < done_parts(second), "the second life did nothing of its own"
    for log, seq in done:
        assert second[log].starts[seq] == first[log].starts[seq], f"part {seq} of {log} was started again"
    finish(case)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)])
def test_terminated_run_exits_cleanly_and_resumes(case: Case, number: signal.Signals) -> None:
    with Run(case.folder, *case.arguments()) as run:
        catch(run, case.work)
        everyone = [each.pid for each in run.everyone()]
        run.signal(number)
        outcome = run.end()
        none_left(everyone)
    assert outcome.code == 130
    assert "interrupted; the work so far is kept in " in outcome.err
    assert str(case.work) in outcome.err
    assert "Traceback" not in outcome.err
    assert answers(case.out) == {}
    assert done_parts(journals(case.work))
    finish(case)


def test_second_run_in_a_work_directory_is_rejected(case: Case) -> None:
    with Run(case.folder, *case.arguments()) as run:
        catch(run, case.work)
        second = cauce(case.folder, "run", *case.arguments("--work", str(case.out), out="other"))
        assert run.process.poll() is None, "the first run had ended: nothing was refused to the second"
        assert run.end().code == 0
    assert second.code == 2
    assert second.err.count("\n") == 1
    assert "another run is already working in" in second.err
    assert answers(case.folder / "other") == {}
    assert answers(case.out) == case.wanted


def test_run_survives_a_kill_of_its_prefork_server(case: Case) -> None:
    with Run(case.folder, *case.arguments()) as run:
        catch(run, case.work)
        server = run.prefork_server()
        workers = [each.pid for each in run.workers()]
        assert server is not None
        assert workers
        assert kill(server.pid)
        none_left([server.pid, *workers])
        run.until(
            "another prefork server was there", lambda: (found := run.prefork_server()) is not None and found != server
        )
        outcome = run.end()
    assert outcome.code == 0, outcome.err
    assert answers(case.out) == case.wanted
    assert "workers were restarted " in outcome.err
