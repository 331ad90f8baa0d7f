"""Jobs as directories that are created and deleted atomically, by a rename. A partial job is never visible."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cauce.errors import FabricError, UsageError
from cauce.fabric.files.disk import FULL, UNIQUE_NAME, Descriptors, Listing, fabric_error, is_out_of_files, unique_name
from cauce.fabric.files.version import check_folder_version
from cauce.fabric.names import Log, check_name
from cauce.process.private_files import (
    DIRECTORY_MODE,
    create,
    make_directory,
    replace_file,
    sync_directory,
    sync_with_parents,
)

_TRIES = 100
_STALE_S = 60.0
SCRATCH = "scratch"
"""The directory of a job for temporary files."""
_TRIMMED = "trimmed"
_UNFINISHED, _REMOVED = (re.compile(UNIQUE_NAME + end) for end in (r"\.new", r"\.gone"))

Identity = tuple[int, int]
"""Distinguishes a job from a later job with the same name."""


class JobFolders:
    """The directory of all jobs, and the trash beside it, where jobs are built and removed."""

    def __init__(self, root: str, descriptors: Descriptors, *, power: bool) -> None:
        self._power = power
        self._jobs = f"{root}/jobs"
        self._trash = f"{root}/trash"
        self._listing = Listing(self._jobs, descriptors)
        self._listed: list[str] = []
        self._in_order: list[str] = []
        self._last_ns = 0
        try:
            for folder in (root, self._jobs, self._trash):
                make_directory(Path(folder))
            if power:
                sync_with_parents(Path(root))
            check_folder_version(root, self._trash, power=power)
        except UsageError as problem:
            raise FabricError(f"opening the job directory: {problem}") from None
        except OSError as problem:
            raise fabric_error(problem, "opening the job directory", root) from problem

    def folder(self, job: str) -> str:
        return f"{self._jobs}/{check_name('job', job)}"

    def identity(self, folder: str) -> Identity | None:
        """None if the job does not exist."""
        try:
            found = os.stat(f"{folder}/manifest.json")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise fabric_error(problem, "checking whether a job exists", folder) from problem
        return found.st_mtime_ns, found.st_ino

    def manifest(self, job: str) -> bytes | None:
        folder = self.folder(job)
        try:
            with open(f"{folder}/manifest.json", "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise fabric_error(problem, f"reading the manifest of job {job}", folder) from problem

    def create(self, job: str, manifest: bytes) -> bytes:
        for _ in range(_TRIES):
            standing = self.manifest(job)
            try:
                if standing is None:
                    self._build(self.folder(job), manifest)
                    continue
                if self._power:
                    # Also if another process created it: our confirm must be durable.
                    sync_directory(self._jobs)
                return standing
            except OSError as problem:
                raise fabric_error(problem, f"creating job {job}", self._jobs) from problem
        raise FabricError(
            f"creating job {job}: it was deleted after each of {_TRIES} attempts; check which process deletes in "
            f"{self._jobs}"
        )

    def _build(self, folder: str, manifest: bytes) -> None:
        """Builds the job in the trash and renames it into place. If another process was faster, its job wins."""
        aside = f"{self._trash}/{unique_name()}.new"
        os.mkdir(aside, DIRECTORY_MODE)
        try:
            self._fill(aside, manifest)
            # Fails if the job exists: rename replaces only an empty directory.
            os.rename(aside, folder)
        except OSError as problem:
            shutil.rmtree(aside, ignore_errors=True)
            # ENOENT: another process removed the build directory as stale. The caller retries in all three cases.
            if problem.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise

    def _fill(self, aside: str, manifest: bytes) -> None:
        os.mkdir(f"{aside}/logs", DIRECTORY_MODE)
        os.mkdir(f"{aside}/leases", DIRECTORY_MODE)
        with open(create(f"{aside}/manifest.json"), "wb") as file:
            file.write(manifest)
            file.flush()
            # Finer than the file system's clock, so that jobs are listed in the order of their creation.
            self._last_ns = max(self._last_ns + 1, time.time_ns())
            os.utime(file.fileno(), ns=(self._last_ns, self._last_ns))
            if self._power:
                os.fsync(file.fileno())
        if self._power:
            sync_directory(aside)

    def in_order(self) -> list[str]:
        """All jobs, oldest first. Returns the same list object as before if nothing changed."""
        try:
            names = self._listing.names()
        except OSError as problem:
            raise fabric_error(problem, "listing the jobs", self._jobs) from problem
        if names is not self._listed:
            found = [(self._age(f"{self._jobs}/{name}"), name) for name in names]
            self._in_order = [name for _, name in sorted((each, name) for each, name in found if each is not None)]
            self._listed = names
        return self._in_order

    def _age(self, folder: str) -> Identity | None:
        """An unreadable job is still listed, and first: the error is raised where the job is used."""
        try:
            return self.identity(folder)
        except FabricError as problem:
            if is_out_of_files(problem):
                raise
            return (0, 0)

    def delete(self, job: str) -> None:
        folder = self.folder(job)
        try:
            gone = self._to_trash(folder)
            if self._power:
                sync_directory(self._jobs)
        except FileNotFoundError:
            return
        except OSError as problem:
            raise fabric_error(problem, f"deleting job {job}", folder) from problem
        # Errors are ignored: a process may just have created a file there. The next start removes the rest.
        shutil.rmtree(gone, ignore_errors=True)

    def trim(self, folder: str, keep: Sequence[Log]) -> None:
        """Removes all leases of a job and all its logs except `keep`. The names to keep are written first, so that no
        process recreates a removed log. On a full disk, logs are removed first to free space for that file; the next
        trim removes a log that a slow worker recreates in between."""
        try:
            try:
                self._write_kept(folder, keep)
            except OSError as problem:
                if problem.errno not in FULL:
                    raise
                self._remove_all_but(folder, keep)
                self._write_kept(folder, keep)
            self._remove_all_but(folder, keep)
        except FileNotFoundError:
            return  # the job was deleted concurrently
        except OSError as problem:
            raise fabric_error(problem, "trimming a job", folder) from problem

    def _write_kept(self, folder: str, keep: Sequence[Log]) -> None:
        replace_file(Path(folder, _TRIMMED), "\n".join(log.encode() for log in keep).encode(), durable=self._power)

    def _remove_all_but(self, folder: str, keep: Sequence[Log]) -> None:
        kept = {log.encode() for log in keep}
        logs = [f"{folder}/logs/{log}" for log in os.listdir(f"{folder}/logs") if log not in kept]
        queues = [f"{folder}/leases/{queue}" for queue in os.listdir(f"{folder}/leases")]
        for path in (*logs, *queues, f"{folder}/{SCRATCH}"):
            with suppress(FileNotFoundError):
                shutil.rmtree(self._to_trash(path), ignore_errors=True)

    def kept_logs(self, folder: str) -> frozenset[Log] | None:
        """The remaining logs of a trimmed job; None if the job was not trimmed."""
        try:
            with open(f"{folder}/{_TRIMMED}") as file:
                return frozenset(map(Log.decode, file.read().split()))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise fabric_error(problem, "reading the state of a job", folder) from problem

    def _to_trash(self, path: str) -> str:
        """Moves a path to the trash atomically; returns its new path."""
        gone = f"{self._trash}/{unique_name()}.gone"
        os.rename(path, gone)
        return gone

    def sweep(self) -> None:
        """Removes directories that crashed processes left half built or half removed."""
        try:
            left = os.listdir(self._trash)
        except OSError as problem:
            raise fabric_error(problem, "emptying the trash", self._trash) from problem
        for name in left:
            # Other names are not ours: the directory may have existed before.
            if _UNFINISHED.fullmatch(name):
                self._sweep_unfinished(f"{self._trash}/{name}")
            elif _REMOVED.fullmatch(name):
                shutil.rmtree(f"{self._trash}/{name}", ignore_errors=True)

    def _sweep_unfinished(self, path: str) -> None:
        gone = f"{self._trash}/{unique_name()}.gone"
        try:
            if time.time() - os.stat(path).st_mtime < _STALE_S:
                return
            # The builder may only be slow: after the rename it cannot publish a half-removed directory.
            os.rename(path, gone)
            if not os.path.isdir(gone):
                os.unlink(gone)
        except OSError:
            return
        shutil.rmtree(gone, ignore_errors=True)
