"""The power of a machine is cut again and again, and its disk loses what was not synced. With `--power-safe` everything
confirmed is there afterwards, and the answers equal those of the oracle."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cauce.client import Settings
from cauce.errors import CorruptRecord, JobFailed
from cauce.fabric.files.fabric import FilesFabric
from cauce.lab.chaos.service import Clients, Tally
from cauce.lab.generators import generate
from cauce.lab.power.record_trial import RecordTrial
from cauce.lab.power.run_trial import RunTrial
from cauce.lab.power.service_trial import ServiceTrial
from cauce.lab.power.volatile_disk import VolatileDisk
from cauce.lab.power.volatile_tree import CutReport, Survivors
from tests.chaos.running import answers
from tests.oracle.api import answer

DATASET = "movies"
SCALE = 0.002
PART_BYTES = 50_000
STATEMENTS = """
-- name: shops
SELECT city, count(*) AS visits, sum(paid) AS paid FROM visits GROUP BY city ORDER BY city;
-- name: best
SELECT id, city, paid FROM visits QUALIFY row_number() OVER (PARTITION BY city ORDER BY paid DESC, id) <= 3
ORDER BY city, id;
"""
CITIES = ("Lima", "Quito", "Salta", "Tandil")
VISITS = 20_000


@pytest.fixture
def movies(tmp_path: Path) -> Path:
    data = tmp_path / "data" / DATASET
    generate(DATASET, data, scale=SCALE, seed=5)
    return data


def dropped(reports: list[CutReport]) -> int:
    """Unsynced writes and changes of names that cuts dropped."""
    return sum(each.dropped_writes + each.dropped_names for each in reports)


@pytest.mark.parametrize("survivors", ["none", "ordered"])
def test_no_confirmed_step_of_the_fabric_is_lost(volatile_disk: VolatileDisk, survivors: Survivors) -> None:
    trial = RecordTrial(volatile_disk, seed=1, survivors=survivors)
    trial.play(cuts=6)
    assert trial.lost == set()
    assert dropped(trial.reports) > 0
    kinds = Counter(kind for kind, *_ in trial.confirmed)
    assert min(kinds[kind] for kind in ("job", "record", "task", "completed")) > 0


def test_without_power_safe_confirmed_steps_are_lost(volatile_disk: VolatileDisk) -> None:
    trial = RecordTrial(volatile_disk, seed=1, durability="process")
    trial.play(cuts=3)
    assert {kind for kind, *_ in trial.lost} >= {"record", "task", "completed"}


def test_a_task_that_another_process_left_unsynced_is_synced_before_it_is_confirmed(
    volatile_disk: VolatileDisk,
) -> None:
    root = volatile_disk.folder / "fabric"
    safe, unsafe = FilesFabric(root, durability="power"), FilesFabric(root)
    safe.create_job("j", b"{}")
    unsafe.enqueue("j", "q", ["a"])
    safe.enqueue("j", "q", ["a"])
    safe.close()
    unsafe.close()
    volatile_disk.cut(0)
    volatile_disk.mount()
    fabric = FilesFabric(root)
    lease = fabric.acquire("j", "q")
    assert lease is not None
    assert lease.task == "a"
    fabric.close()


def run_arguments(data: Path, out: Path) -> list[str]:
    return [DATASET, "--data", str(data), "--out", str(out), "--part-bytes", str(PART_BYTES), "--workers", "2"]


def test_power_cuts_change_no_answer_of_a_run(volatile_disk: VolatileDisk, movies: Path, tmp_path: Path) -> None:
    trial = RunTrial("run", run_arguments(movies, tmp_path / "out"), seed=2, cuts=4, changes=400)
    trial.play(volatile_disk)
    assert answers(tmp_path / "out") == answer(DATASET, movies)
    assert len(trial.reports) == 4
    assert dropped(trial.reports) > 0


@pytest.mark.soak
def test_power_cuts_change_no_answer_of_sql(volatile_disk: VolatileDisk, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    rows = [f"{number},{CITIES[number * number % 7 % 4]},{number * 37 % 1000}" for number in range(VISITS)]
    (data / "visits.csv").write_text("id,city,paid\n" + "\n".join(rows) + "\n")
    (tmp_path / "statements.sql").write_text(STATEMENTS)

    def given(out: str) -> list[str]:
        files = ["-f", str(tmp_path / "statements.sql"), "--data", str(data), "--out", str(tmp_path / out)]
        return [*files, "--part-bytes", "10000", "--workers", "2"]

    RunTrial("sql", given("expected"), seed=0, cuts=0, changes=1).play(volatile_disk)
    trial = RunTrial("sql", given("out"), seed=3, cuts=3, changes=200)
    trial.play(volatile_disk)
    expected = answers(tmp_path / "expected")
    assert sorted(expected) == ["best", "shops"]
    assert answers(tmp_path / "out") == expected
    assert len(trial.reports) == 3
    assert dropped(trial.reports) > 0


def service_trial(disk: VolatileDisk, movies: Path, tmp_path: Path, seed: int) -> tuple[ServiceTrial, Clients]:
    folder = tmp_path / "answers" / DATASET
    folder.mkdir(parents=True)
    for query, content in answer(DATASET, movies).items():
        (folder / f"{query}.csv").write_bytes(content)
    tally = Tally(lambda line, style: sys.stdout.write(line + "\n") and None)
    trial = ServiceTrial(disk, tally, seed, tmp_path / "service.log", changes=(1, 2500))
    settings = Settings(part_bytes=16_000)
    return trial, Clients(trial.url, movies.parent, folder.parent, tally, settings, [DATASET])


def test_a_service_answers_its_clients_after_power_cuts(
    volatile_disk: VolatileDisk, movies: Path, tmp_path: Path
) -> None:
    trial, clients = service_trial(volatile_disk, movies, tmp_path, seed=4)
    trial.play(clients, 1, cuts=3)
    assert trial.tally.problems == []
    assert trial.tally.jobs > 0
    assert dropped(trial.reports) > 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("survivors", ["none", "ordered"])
def test_no_confirmed_step_is_lost_in_many_cuts(volatile_disk: VolatileDisk, survivors: Survivors, seed: int) -> None:
    trial = RecordTrial(volatile_disk, seed, survivors)
    trial.play(cuts=40)
    assert trial.lost == set()
    assert dropped(trial.reports) > 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("survivors", ["none", "ordered"])
def test_many_power_cuts_change_no_answer_of_a_run(
    volatile_disk: VolatileDisk, movies: Path, tmp_path: Path, survivors: Survivors, seed: int
) -> None:
    trial = RunTrial("run", run_arguments(movies, tmp_path / "out"), seed, 8, 800, survivors)
    trial.play(volatile_disk)
    assert answers(tmp_path / "out") == answer(DATASET, movies)
    assert dropped(trial.reports) > 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_blocks_that_survive_out_of_order_give_no_wrong_answer(
    volatile_disk: VolatileDisk, movies: Path, tmp_path: Path, seed: int
) -> None:
    """A file system may write the blocks of an unsynced append in any order. Then the job may fail, and says why."""
    trial = RunTrial("run", run_arguments(movies, tmp_path / "out"), seed, 8, 800, "blocks")
    failure = failure_of(lambda: trial.play(volatile_disk), JobFailed)
    if failure is None:
        assert answers(tmp_path / "out") == answer(DATASET, movies)
    else:
        assert "[corrupt]" in failure
        assert answers(tmp_path / "out") == {}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_blocks_that_survive_out_of_order_lose_no_confirmed_step(volatile_disk: VolatileDisk, seed: int) -> None:
    trial = RecordTrial(volatile_disk, seed, "blocks")
    failure = failure_of(lambda: trial.play(cuts=20), CorruptRecord)
    assert failure is None or "restore the file or run the job again" in failure
    assert trial.lost == set()


def failure_of(play: Callable[[], None], kind: type[Exception]) -> str | None:
    try:
        play()
    except kind as problem:
        return str(problem)
    return None


@pytest.mark.soak
def test_a_service_answers_its_clients_after_many_power_cuts(
    volatile_disk: VolatileDisk, movies: Path, tmp_path: Path
) -> None:
    trial, clients = service_trial(volatile_disk, movies, tmp_path, seed=5)
    trial.play(clients, 3, cuts=30)
    assert trial.tally.problems == []
    assert trial.tally.jobs > 0
    assert dropped(trial.reports) > 0
