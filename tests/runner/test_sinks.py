"""Errors for answers that cannot be written: cause, path and remedy."""

from __future__ import annotations

import io
import os
from pathlib import Path

import polars as pl
import pytest

from cauce.api.formats import Format
from cauce.datasets import load
from cauce.errors import FabricFull, JobFailed
from cauce.plan import dataset
from cauce.runner import output_dir as output
from cauce.runner.in_process import LocalRun
from cauce.runner.sinks import Folder, Prepared, Rejects, Silent, prepare
from cauce.scan.block import REJECT_SCHEMA
from tests.cli.running import small_books


def run_to_folder(prepared: Prepared, out: Path, form: Format = "csv") -> None:
    sink = Folder(prepared.plan, out, form, 0)
    try:
        LocalRun(prepared.plan, prepared.files, sink, Silent(), None).run()
    except BaseException:
        sink.abandon()
        raise
    sink.finish()


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_full_disk_is_reported_with_its_folder_and_a_remedy(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/dev/full is a file on which every write fails as on a full disk."""
    small_books(tmp_path / "data")
    monkeypatch.setattr(output, "create", lambda path, flags, mode: os.open("/dev/full", flags))
    prepared = prepare(load("books"), tmp_path / "data", ["q3"])
    with pytest.raises(FabricFull, match=f"no space left for the answers in {tmp_path}/out; free some space"):
        run_to_folder(prepared, tmp_path / "out", form)  # type: ignore[arg-type]
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    small_books(tmp_path / "data")
    (tmp_path / "file").touch()
    prepared = prepare(load("books"), tmp_path / "data", ["q3"])
    with pytest.raises(JobFailed, match=f"cannot write the answers to {tmp_path}/file/out: Not a directory; choose"):
        run_to_folder(prepared, tmp_path / "file/out")


def test_parts_without_rejects_write_no_file_of_rejects(tmp_path: Path) -> None:
    spool = Rejects(tmp_path)
    spool.add(pl.DataFrame(schema=REJECT_SCHEMA))
    written = io.BytesIO()
    spool.write(written)
    assert spool.count == 0
    assert written.getvalue().decode() == ",".join(REJECT_SCHEMA) + "\n"


def test_a_plan_after_the_fork_starts_no_other_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_books(tmp_path)
    monkeypatch.setattr(dataset, "isolated", lambda compute: pytest.fail("a process was forked"))
    here = prepare(load("books"), tmp_path, ["q1"], isolate=False)
    monkeypatch.undo()
    assert here.plan.digest == prepare(load("books"), tmp_path, ["q1"]).plan.digest
