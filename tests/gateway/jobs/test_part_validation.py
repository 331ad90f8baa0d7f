"""File references: which paths are allowed, and jobs whose file changes before it is read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cauce.api.jobs import JobStatus
from cauce.gateway.errors import BadPart
from cauce.gateway.jobs import part_validation
from cauce.gateway.limits import ServiceLimits
from tests.gateway.serving import JOB, OWNER, World, run_to_end
from tests.gateway.test_limits import HEADER, ONE, reference

ROW = b"T,['A'],P,1995,['X']\n"


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    folder = tmp_path / "allowed"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "books.csv").write_bytes(HEADER + ROW)
    return folder


@pytest.mark.parametrize("through", ["service", "link"])
def test_a_reference_into_the_service_directory_is_rejected(allowed: Path, through: str) -> None:
    own = allowed / "service"
    own.mkdir()
    (own / "key.csv").write_bytes(HEADER)
    (allowed / "link").symlink_to(own)
    limits = ServiceLimits(references=(allowed,), private=(own,))
    with pytest.raises(BadPart, match="not below a directory"):
        part_validation.find_file(str(allowed / through / "key.csv"), limits)


def test_a_reference_to_a_private_file_is_rejected(allowed: Path) -> None:
    limits = ServiceLimits(references=(allowed,), private=(allowed / "below" / "books.csv",))
    with pytest.raises(BadPart, match="not below a directory"):
        part_validation.find_file(str(allowed / "below" / "books.csv"), limits)


def test_a_link_put_in_place_after_the_check_is_not_followed(
    allowed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "books.csv").write_bytes(HEADER)
    resolve = os.path.realpath

    def resolve_then_swap(path: str) -> str:
        found = resolve(path)
        if str(path).endswith("books.csv"):
            (allowed / "below").rename(allowed / "former")
            (allowed / "below").symlink_to(secret)
        return found

    monkeypatch.setattr(os.path, "realpath", resolve_then_swap)
    with pytest.raises(BadPart, match="cannot be read"):
        part_validation.find_file(str(allowed / "below" / "books.csv"), ServiceLimits(references=(allowed,)))


def run_after(world: World, allowed: Path, change: str) -> JobStatus:
    """The final status of a job whose file was changed after it was submitted."""
    file = allowed / "below" / "books.csv"
    jobs = world.gateway(references=(allowed,))
    jobs.create(OWNER, JOB, ONE)
    size = len(HEADER + ROW)
    jobs.uploads.put_part(OWNER, JOB, "books", 0, reference(file, start=len(HEADER), end=size))
    jobs.uploads.complete(OWNER, JOB, "books", 1)
    before = file.stat()
    match change:
        case "none":
            pass
        case "rewritten":
            file.write_bytes(HEADER + ROW.replace(b"T", b"U"))
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        case "replaced":
            other = allowed / "other.csv"
            other.write_bytes(HEADER + ROW.replace(b"T", b"U"))
            os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
            other.replace(file)
        case "extended":
            with file.open("ab") as longer:
                longer.write(ROW)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        case "linked":
            file.rename(allowed / "moved.csv")
            file.symlink_to(allowed / "moved.csv")
        case "pipe":
            file.unlink()
            os.mkfifo(file)
        case "removed":
            file.unlink()
    return run_to_end(jobs, world.worker())


def test_a_file_that_did_not_change_is_read(lone: World, allowed: Path) -> None:
    assert run_after(lone, allowed, "none").state == "done"


@pytest.mark.parametrize("change", ["rewritten", "replaced", "extended", "pipe"])
def test_a_job_fails_if_its_file_was_changed_after_it_was_submitted(lone: World, allowed: Path, change: str) -> None:
    status = run_after(lone, allowed, change)
    assert status.state == "failed"
    assert "books.csv was changed or replaced after it was submitted" in status.cause
    assert str(allowed) not in status.cause


@pytest.mark.parametrize("change", ["linked", "removed"])
def test_a_job_fails_if_its_file_no_longer_exists(lone: World, allowed: Path, change: str) -> None:
    status = run_after(lone, allowed, change)
    assert status.state == "failed"
    assert "books.csv cannot be read any more" in status.cause


def test_an_identical_copy_of_a_stored_file_is_the_same_part(lone: World, allowed: Path) -> None:
    file = allowed / "below" / "books.csv"
    jobs = lone.gateway(references=(allowed,))
    jobs.create(OWNER, JOB, ONE)
    part = reference(file, start=len(HEADER), end=len(HEADER + ROW))
    assert jobs.uploads.put_part(OWNER, JOB, "books", 0, part)
    before = file.stat()
    other = allowed / "other.csv"
    other.write_bytes(file.read_bytes())
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)
    assert not jobs.uploads.put_part(OWNER, JOB, "books", 0, replace(part))
