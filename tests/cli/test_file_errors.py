"""Errors of the operating system about files: one sentence that names the remedy, exit code 1, no traceback."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cauce.cli import entry
from cauce.errors import UsageError
from cauce.runner.output_dir import OutputLock


def test_output_to_a_full_disk_says_so() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cauce", "datasets"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error [full] no space left; free some space")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "error [full] no space left for out/x.csv; free some space on the disk of the output"),
        (errno.EROFS, "error [job-failed] no access to out/x.csv: Read-only file system; change its permissions, or"),
        (errno.EACCES, "error [job-failed] no access to out/x.csv: Permission denied; change its permissions, or"),
        (errno.EIO, "error [job-failed] out/x.csv cannot be used: Input/output error"),
    ],
)
def test_an_error_of_a_file_names_the_file_and_the_remedy(
    number: int, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_words: list[str]) -> bool:
        raise OSError(number, os.strerror(number), "out/x.csv")

    monkeypatch.setattr(entry, "_run_directly", fail)
    monkeypatch.setattr(sys, "argv", ["cauce", "demo"])
    with pytest.raises(SystemExit) as ended:
        entry.entry()
    assert ended.value.code == 1
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_directory_that_cannot_be_made_is_reported_with_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, *_arguments: object, **_named: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "mkdir", fail)
    with pytest.raises(
        UsageError, match=r"cannot write to .*out: Read-only file system .*; choose a writable directory"
    ):
        OutputLock.of_directory(tmp_path / "out", "cauce run")
