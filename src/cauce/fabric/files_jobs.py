"""Jobs as folders that appear and vanish whole, by a rename. Nobody ever meets half a job."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress

from cauce.errors import FabricError
from cauce.fabric.files_disk import Descriptors, Listing, sync_folder, told, unique_name
from cauce.fabric.names import check_name

_TRIES = 100
_STALE_S = 60.0
_TRIMMED = "trimmed"

Identity = tuple[int, int]
"""Tells a job from another that was given its name after it was deleted."""


class JobFolders:
    """The folder of all jobs, and beside it the trash, where jobs are built and taken apart."""

    def __init__(self, root: str, descriptors: Descriptors, *, power: bool) -> None:
        self._power = power
        self._jobs = f"{root}/jobs"
        self._trash = f"{root}/trash"
        self._listing = Listing(self._jobs, descriptors)
        self._listed: list[str] = []
        self._in_order: list[str] = []
        self._last_ns = 0
        try:
            os.makedirs(self._jobs, exist_ok=True)
            os.makedirs(self._trash, exist_ok=True)
        except OSError as problem:
            raise told(problem, "opening the folder of all jobs", root) from problem

    def folder(self, job: str) -> str:
        return f"{self._jobs}/{check_name('job', job)}"

    def identity(self, folder: str) -> Identity | None:
        """None if there is no job there."""
        try:
            found = os.stat(f"{folder}/manifest.json")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise told(problem, "looking for a job", folder) from problem
        return found.st_mtime_ns, found.st_ino

    def manifest(self, job: str) -> bytes | None:
        folder = self.folder(job)
        try:
            with open(f"{folder}/manifest.json", "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise told(problem, f"reading the manifest of job {job}", folder) from problem

    def create(self, job: str, manifest: bytes) -> bytes:
        for _ in range(_TRIES):
            standing = self.manifest(job)
            try:
                if standing is None:
                    self._build(self.folder(job), manifest)
                    continue
                if self._power:
                    # Whoever has built it: what we confirm must last.
                    sync_folder(self._jobs)
                return standing
            except OSError as problem:
                raise told(problem, f"creating job {job}", self._jobs) from problem
        raise FabricError(f"creating job {job}: it vanishes as fast as it is created; see who deletes in {self._jobs}")

    def _build(self, folder: str, manifest: bytes) -> None:
        """Builds the job aside and moves it into place. If somebody was faster, theirs stands and ours is dropped."""
        aside = f"{self._trash}/{unique_name()}.new"
        os.mkdir(aside)
        try:
            self._fill(aside, manifest)
            # Fails if there is a job already: a folder can take the place of an empty one only.
            os.rename(aside, folder)
        except OSError as problem:
            shutil.rmtree(aside, ignore_errors=True)
            # Not there: it was swept away as if we were dead. The caller looks again in either case.
            if problem.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise

    def _fill(self, aside: str, manifest: bytes) -> None:
        os.mkdir(f"{aside}/logs")
        os.mkdir(f"{aside}/leases")
        with open(f"{aside}/manifest.json", "xb") as file:
            file.write(manifest)
            file.flush()
            # Finer than the file system's clock, so that jobs created one after another are listed so.
            self._last_ns = max(self._last_ns + 1, time.time_ns())
            os.utime(file.fileno(), ns=(self._last_ns, self._last_ns))
            if self._power:
                os.fsync(file.fileno())
        if self._power:
            sync_folder(aside)

    def in_order(self) -> list[str]:
        """All jobs, oldest first; the same list object as the last time if nothing has changed."""
        try:
            names = self._listing.names()
        except OSError as problem:
            raise told(problem, "listing the jobs", self._jobs) from problem
        if names is not self._listed:
            found = [(self.identity(f"{self._jobs}/{name}"), name) for name in names]
            self._in_order = [name for _, name in sorted((each, name) for each, name in found if each is not None)]
            self._listed = names
        return self._in_order

    def delete(self, job: str) -> None:
        folder = self.folder(job)
        try:
            gone = self._out_of_sight(folder)
            if self._power:
                sync_folder(self._jobs)
        except FileNotFoundError:
            return
        except OSError as problem:
            raise told(problem, f"deleting job {job}", folder) from problem
        # What cannot be removed now, as somebody has just put a file there, is swept at the next start.
        shutil.rmtree(gone, ignore_errors=True)

    def trim(self, folder: str, keep: Sequence[str]) -> None:
        """Removes all leases and all logs of a job but these. What is left is noted first, so that nobody brings back
        what goes."""
        aside = f"{self._trash}/{unique_name()}.new"
        try:
            with open(aside, "w") as file:
                file.write("\n".join(keep))
            os.replace(aside, f"{folder}/{_TRIMMED}")
            logs = [f"{folder}/logs/{log}" for log in os.listdir(f"{folder}/logs") if log not in keep]
            queues = [f"{folder}/leases/{queue}" for queue in os.listdir(f"{folder}/leases")]
            for path in (*logs, *queues):
                with suppress(FileNotFoundError):
                    shutil.rmtree(self._out_of_sight(path), ignore_errors=True)
        except FileNotFoundError:
            with suppress(FileNotFoundError):
                os.unlink(aside)
        except OSError as problem:
            raise told(problem, "trimming a job", folder) from problem

    def left(self, folder: str) -> frozenset[str] | None:
        """The logs that a trimmed job still has; None of one that was not trimmed."""
        try:
            with open(f"{folder}/{_TRIMMED}") as file:
                return frozenset(file.read().split("\n"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise told(problem, "looking at a job", folder) from problem

    def _out_of_sight(self, path: str) -> str:
        """Moved to the trash, at once and for everybody, to be removed there."""
        gone = f"{self._trash}/{unique_name()}.gone"
        os.rename(path, gone)
        return gone

    def sweep(self) -> None:
        """Removes what processes that died have left half built or half removed."""
        try:
            left = os.listdir(self._trash)
        except OSError as problem:
            raise told(problem, "sweeping the trash", self._trash) from problem
        for name in left:
            if name.endswith(".new"):
                self._sweep_unfinished(f"{self._trash}/{name}")
            else:
                shutil.rmtree(f"{self._trash}/{name}", ignore_errors=True)

    def _sweep_unfinished(self, path: str) -> None:
        gone = f"{self._trash}/{unique_name()}.gone"
        try:
            if time.time() - os.stat(path).st_mtime < _STALE_S:
                return
            # Its builder may live, slow as it is: moved first, it cannot be put in place half removed.
            os.rename(path, gone)
            if not os.path.isdir(gone):
                os.unlink(gone)
        except OSError:
            return
        shutil.rmtree(gone, ignore_errors=True)
