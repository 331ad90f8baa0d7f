"""`cauce serve`: validates the options, starts the doctors, and waits until the service stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from cauce.doctor.launch.service_dir import ServiceDir
from cauce.process.telemetry.logs import start_logs, use_logs
from cauce.service.broker_notices import log_wrong_settings
from cauce.service.entrypoints import ServiceConfig, claim_metrics, load_all, make_metrics, remove_metrics
from cauce.service.foreground import Foreground, LogTail
from cauce.service.gateway_options import checked
from cauce.service.startup import ServiceSize, check_not_running, configure, start_doctors
from cauce.terminal.console import warn, warn_if_wide


class Serving:
    def __init__(self, folder: Path, given: ServiceConfig, wanted: ServiceSize, ready: Callable[[str], None]) -> None:
        self._home = ServiceDir(folder)
        self._given = given
        self._wanted = wanted
        self._ready = ready

    def run(self, *, detach: bool) -> int:
        self._home.create()
        warn_if_wide(self._home.folder)
        # Before the port, which the running service occupies.
        check_not_running(self._home)
        claim_metrics(self._home.folder)
        given = checked(self._given, self._home.folder)
        place = given.place()
        # First without sharing: sharing a port with another service would take half of its requests.
        with place.bind() as alone:
            port = alone.getsockname()[1]
        place = replace(place, port=port, shared=True)
        bound = place.bind()
        load_all()
        use_logs(given.logs)
        log_wrong_settings("serve")
        cluster = configure(self._home, msgspec.structs.replace(given, port=port), self._wanted)
        # After all checks: a service that already runs here uses this directory.
        make_metrics(self._home.folder)
        # A detached service logs only to its files.
        tail = LogTail(self._home.logs, shown=not detach, reformat=given.log_format == "auto")
        tail.skip()
        # Before this process starts a thread or opens a log: doctors are forks of it.
        cluster = start_doctors(self._home, cluster, sorted(cluster.doctors))
        foreground = Foreground(self._home, cluster, tail, warn)
        foreground.take_over_signals()
        log = start_logs("serve")
        if not detach:
            log.info("service started", folder=str(self._home.folder), doctors=len(cluster.doctors))
        if foreground.wait_ready():
            self._ready(place.url(bound))
            if detach:
                return 0
            foreground.wait()
        foreground.end()
        bound.close()
        remove_metrics(self._home.folder)
        if not detach:
            log.info("service stopped")
        # A detached service that is interrupted before it is ready counts as not started.
        return 130 if detach else 0
