"""A run that is killed or stopped leaves no process behind, and the same command goes on where it was."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from cauce.chaos.processes import kill
from cauce.worker.journal import Past
from tests.chaos.conftest import Case
from tests.chaos.running import Run, answers, done_parts, journal_bytes, journals, none_left
from tests.cli.running import Outcome, cauce

pytestmark = pytest.mark.slow

SOME_BYTES = 4_000
"""Of journals: some dozens of parts done, and most of them still to do."""


def catch(run: Run, work: Path, beyond: int = 0) -> None:
    """Waits until the run is in the middle: it has noted some parts, and a worker is at the next ones."""
    run.until("work was noted", lambda: journal_bytes(work) > beyond + SOME_BYTES)
    run.until("a worker held a lease", lambda: bool(run.workers()))


def kill_in_the_middle(case: Case) -> dict[str, Past]:
    before = journal_bytes(case.work)
    with Run(case.folder, *case.arguments()) as run:
        catch(run, case.work, before)
        everyone = [each.pid for each in run.everyone()]
        assert len(everyone) == 4, "a run, its nursery and two workers"
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


def test_a_killed_run_goes_on_where_it_was(case: Case) -> None:
    first = kill_in_the_middle(case)
    second = kill_in_the_middle(case)
    done = done_parts(first)
    assert done
    assert done < done_parts(second), "the second life did nothing of its own"
    for log, seq in done:
        assert second[log].begun[seq] == first[log].begun[seq], f"part {seq} of {log} was begun again"
    finish(case)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)])
def test_a_stopped_run_ends_in_good_order_and_goes_on(case: Case, number: signal.Signals) -> None:
    with Run(case.folder, *case.arguments()) as run:
        catch(run, case.work)
        everyone = [each.pid for each in run.everyone()]
        run.signal(number)
        asked = time.monotonic()
        outcome = run.end()
        assert time.monotonic() - asked < 5
        none_left(everyone)
    assert outcome.code == 130
    assert "interrupted; the work so far is kept in " in outcome.err
    assert str(case.work) in outcome.err
    assert "Traceback" not in outcome.err
    assert answers(case.out) == {}
    assert done_parts(journals(case.work))
    finish(case)


def test_a_second_run_in_the_same_work_folder_is_refused(case: Case) -> None:
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


def test_a_run_whose_nursery_is_killed_goes_on_by_itself(case: Case) -> None:
    with Run(case.folder, *case.arguments()) as run:
        catch(run, case.work)
        nursery = run.nursery()
        workers = [each.pid for each in run.workers()]
        assert nursery is not None
        assert workers
        assert kill(nursery.pid)
        none_left([nursery.pid, *workers])
        run.until("another nursery was there", lambda: (found := run.nursery()) is not None and found != nursery)
        outcome = run.end()
    assert outcome.code == 0, outcome.err
    assert answers(case.out) == case.wanted
    assert "workers were restarted " in outcome.err
