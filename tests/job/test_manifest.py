"""The manifest of a job: its content, and the errors for one that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.datasets import load
from cauce.datasets.registry import Registry
from cauce.errors import CorruptRecord, DatasetMissing, OtherVersion, PlanMismatch
from cauce.job.manifest import Manifest, Outline, StoredAnswer, keep_plan, load_manifest
from cauce.plan import Dataset
from tests.datasets.test_load import SHOP


def manifest_of(file: Path) -> Manifest:
    dataset = load(str(file))
    return Manifest("job", dataset.name, ("q1",), {}, 2, 1, dataset.plan().digest, source=dataset.version)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP % "shop")
    return tmp_path / "shop.py"


def test_dump_and_load_round_trip() -> None:
    answer = StoredAnswer("home.answer-q1", (3, 4), (("name", "text"), ("paid", "places-2")))
    manifest = Manifest("job", "coffee", ("q1",), {}, 2, 1, "digest", outline=Outline({}, {"q1": answer}))
    assert load_manifest(manifest.dump()) == manifest


@pytest.mark.parametrize("data", [b"", b"\0" * 80, b"{", b"[]", b"{}", b'{"version": 2}', b"\xff", b"[" * 100_000])
def test_damaged_bytes_are_reported_as_damage(data: bytes) -> None:
    with pytest.raises((CorruptRecord, OtherVersion), match="the stored manifest of job j") as problem:
        load_manifest(data, "j")
    if data != b"{}":
        assert "is damaged" in str(problem.value)


def test_an_output_that_does_not_exist_is_damage() -> None:
    outline = Outline({}, {"q1": StoredAnswer("log", (), (("a", "unheard-of"),))})
    with pytest.raises(CorruptRecord, match="unheard-of"):
        load_manifest(Manifest("job", "coffee", ("q1",), {}, 2, 1, "", outline=outline).dump())


@pytest.mark.parametrize(("version", "age"), [(1, "older"), (99, "newer")])
def test_the_error_names_the_other_version(version: int, age: str) -> None:
    with pytest.raises(OtherVersion, match=f"written by an? {age} version of Cauce: it has version {version}"):
        load_manifest(b'{"version": %d, "fields": "of its own"}' % version)


def test_a_dataset_that_the_process_does_not_have_is_missing(file: Path) -> None:
    manifest = manifest_of(file)
    manifest.plan(Registry([file]))
    with pytest.raises(DatasetMissing, match="no dataset shop"):
        manifest.plan(Registry())


def test_a_comment_in_the_file_changes_no_plan(file: Path) -> None:
    manifest = manifest_of(file)
    file.write_text("# A remark.\n" + file.read_text())
    assert manifest.plan(Registry([file])).digest == manifest.digest


def test_other_code_in_the_file_is_a_mismatch(file: Path) -> None:
    # A different name, because a process caches its plans.
    file.write_text(SHOP % "edited")
    manifest = manifest_of(file)
    file.write_text(file.read_text() + "\nmore = 1\n")
    with pytest.raises(PlanMismatch, match="the code of dataset edited has changed"):
        manifest.plan(Registry([file]))


def test_a_plan_that_another_process_has_made_is_used(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = load(str(file)).plan(partitions=3)
    created = Manifest("job", "shop", ("q1",), {}, 3, 1, plan.digest)
    keep_plan(created.dump_plan(plan))
    monkeypatch.setattr(Dataset, "plan", None)
    kept = created.plan(Registry([file]))
    assert [stage.name for stage in kept.stages] == [stage.name for stage in plan.stages]


def test_a_plan_of_another_digest_is_not_used(file: Path) -> None:
    plan = load(str(file)).plan(partitions=4)
    keep_plan(Manifest("job", "shop", ("q1",), {}, 4, 1, plan.digest).dump_plan(plan))
    with pytest.raises(PlanMismatch, match="was planned as other"):
        Manifest("job", "shop", ("q1",), {}, 4, 1, "other").plan(Registry([file]))
