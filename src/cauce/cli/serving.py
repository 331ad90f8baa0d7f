"""The whole of `cauce serve`: checks, the start of the doctors, and the wait for their end."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from cauce.cli.attend import Attendant, LogTail
from cauce.cli.bodies import METRICS, Launching, load_all
from cauce.cli.notices import tell_in_log
from cauce.cli.output import warn
from cauce.cli.settings import checked
from cauce.cli.starting import Wanted, begin, start_doctors
from cauce.doctor.home import Home
from cauce.gateway.logs import start_logs


class Serving:
    def __init__(self, folder: Path, given: Launching, wanted: Wanted, ready: Callable[[str], None]) -> None:
        self._home = Home(folder)
        self._given = given
        self._wanted = wanted
        self._ready = ready

    def run(self, *, detach: bool) -> int:
        self._home.make()
        given = checked(self._given, self._home.folder)
        place = given.place()
        # First not shared: with another service on the port we would get half of its requests.
        with place.bind() as alone:
            port = alone.getsockname()[1]
        place = replace(place, port=port, shared=True)
        bound = place.bind()
        load_all()
        tell_in_log("serve")
        cluster = begin(self._home, msgspec.structs.replace(given, port=port), self._wanted)
        # A detached service keeps its logs in their files: the terminal is for one line.
        tail = LogTail(self._home.logs, shown=not detach)
        tail.skip()
        # Before any thread or log of our own: the doctors are this process forked.
        cluster = start_doctors(self._home, cluster, sorted(cluster.doctors))
        attendant = Attendant(self._home, cluster, tail, warn)
        attendant.stay_by()
        log = start_logs("serve")
        if not detach:
            log.info("service started", folder=str(self._home.folder), doctors=len(cluster.doctors))
        if attendant.wait_ready():
            self._ready(place.url(bound))
            if detach:
                return 0
            attendant.stay()
        attendant.end()
        bound.close()
        shutil.rmtree(self._home.folder / METRICS, ignore_errors=True)
        if not detach:
            log.info("service stopped")
        # A service that was to stay in the background and was interrupted before it was ready has not been started.
        return 130 if detach else 0
