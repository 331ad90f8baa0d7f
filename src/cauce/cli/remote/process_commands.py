"""Implements the commands that show the processes of a service and change its desired state."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cauce.cli.options import SourceOptions
from cauce.cli.remote.job_commands import DEFAULT_GATEWAY, with_long_timeouts
from cauce.client.connection_problems import unreadable
from cauce.client.settings import ASK_ANSWER_S, ASK_PATIENCE_S, ConnectionSettings
from cauce.client.transport import Transport
from cauce.doctor.control import read_desired_state, stop_all, update_desired_state
from cauce.doctor.json_bodies import ClusterBody, EventsBody, cluster_body, events_after, last_events
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.desired_state import MOST, RUNNING, STOPPED, DesiredState, count_key, hold_key
from cauce.doctor.model.exit_reasons import restarting, with_work
from cauce.doctor.model.names import Role, check_host, order_of, role_of
from cauce.doctor.model.status import ProcessStatus
from cauce.doctor.query import QueryClient
from cauce.doctor.supervision.events import Event, EventLog
from cauce.doctor.supervision.no_worker import no_worker
from cauce.errors import Unreachable, UsageError, unknown
from cauce.fabric.factory import open_fabric
from cauce.terminal.console import console, print_json, print_line, size, warn
from cauce.terminal.invocation import command
from cauce.terminal.progress import shown
from cauce.worker.events import Assignment

ASK_S = 3.0
FOLLOW_S = 0.5
PAGE = 1000
WORK = "works on"
NUMBERS = ("pid", "restarts", "memory")
"""The first of them is dropped first."""
COLUMNS = ("process", "state", *NUMBERS, WORK)
LEAST_WORK_WIDTH = 12
COLOURS = {"running": "green", "starting": "cyan", "stopped": "yellow", "ending": "yellow"}
_ROLES: dict[str, Role] = {"workers": "worker", "gateways": "gateway", "doctors": "doctor"}


class Source(Protocol):
    """Where the state and the events of a cluster are read from."""

    def cluster(self) -> ClusterBody: ...

    def last(self, count: int) -> EventsBody: ...

    def after(self, cursor: str) -> EventsBody: ...


class FolderSource:
    """Queries the doctors on this host and reads the fabric."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._cluster = ServiceDir(folder).cluster()
        self._log: EventLog | None = None

    def cluster(self) -> ClusterBody:
        with QueryClient(self._cluster) as client:
            view = client.status(ASK_S)
        if view is None:
            raise Unreachable(
                f"no doctor of the service in {self._folder} answers: it is not running, or all its doctors have "
                f"failed; start it with: {command('serve', '--dir', self._folder)}"
            )
        return cluster_body(view, no_worker(view.rows, view.doctor, self._folder) if view.running else None)

    def _events(self) -> list[Event]:
        if self._log is None:
            self._log = EventLog(open_fabric(self._cluster.fabric, self._cluster.durability))
        return self._log.read(consistent=True)

    def last(self, count: int) -> EventsBody:
        return last_events(self._events(), count)

    def after(self, cursor: str) -> EventsBody:
        return events_after(self._events(), cursor, PAGE)


class HttpSource:
    """Queries a gateway, from any host."""

    def __init__(self, gateways: Sequence[str], settings: ConnectionSettings) -> None:
        self._transport = Transport(gateways, settings)

    def cluster(self) -> ClusterBody:
        with unreadable():
            return msgspec.json.decode(self._transport.request("GET", "/v1/cluster").body, type=ClusterBody)

    def last(self, count: int) -> EventsBody:
        return self._get(f"last={min(count, PAGE)}")

    def after(self, cursor: str) -> EventsBody:
        return self._get(f"cursor={cursor}&limit={PAGE}")

    def _get(self, query: str) -> EventsBody:
        reply = self._transport.request("GET", f"/v1/cluster/events?{query}")
        with unreadable():
            return msgspec.json.decode(reply.body, type=EventsBody)


def source(options: SourceOptions, *, follow: bool = False) -> Source:
    """`follow`: for a command that runs until it is interrupted, and retries with long timeouts."""
    if options.dir is not None:
        return FolderSource(options.dir)
    asking = ConnectionSettings(options.token or None, options.ca or None, ASK_PATIENCE_S, ASK_ANSWER_S, 1, None)
    return HttpSource(list(options.gateway or [DEFAULT_GATEWAY]), with_long_timeouts(asking) if follow else asking)


def status_command(where: Source, json: bool) -> None:
    body = where.cluster()
    if json:
        print_json(body)
        return
    console().print(processes(body, console().width))


def processes(body: ClusterBody, width: int) -> Group:
    """The processes as a table. Drops columns that do not fit the width, the least important ones first."""
    leader = f"leader {body.leader}, epoch {body.epoch}" if body.leader else "no leader yet"
    state = "" if body.running else ", stopping"
    rows = [dict(zip(COLUMNS, _cells(row), strict=True)) for row in body.processes]
    shown_columns = _columns_that_fit(rows, width)
    table = Table(header_style="bold cyan", expand=False)
    for name in shown_columns:
        right = name in NUMBERS
        table.add_column(name, justify="right" if right else "left", no_wrap=name != WORK, overflow="fold")
    for cells in rows:
        table.add_row(*(cells[name] for name in shown_columns))
    missing = [Text(_sentence(body.no_worker.text), style="bold red")] if body.no_worker is not None else []
    return Group(Text(f"{len(body.processes)} processes, {leader}{state}", style="bold"), table, *missing)


def _columns_that_fit(rows: Sequence[Mapping[str, Text]], width: int) -> list[str]:
    widest = {name: max([len(name), *(cells[name].cell_len for cells in rows)]) for name in COLUMNS}
    # What a process works on may be wrapped.
    widest[WORK] = min(widest[WORK], LEAST_WORK_WIDTH)
    names = list(COLUMNS)
    for name in NUMBERS:
        # A border and two spaces for each column.
        if sum(widest[each] + 3 for each in names) + 1 > width:
            names.remove(name)
    return names


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cells(row: ProcessStatus) -> list[Text]:
    mark = " ★" if row.leader else ""
    where = f" on {row.host}" if row.host and order_of(row.name)[2] != row.host else ""
    reason = row.reason if row.restart_in_s is None else restarting(row.restart_in_s, row.reason)
    work = str(Assignment(row.owner, row.job, row.work))
    detail = work if row.state == "running" else with_work(reason, work)
    return [
        Text(f"{row.name}{mark}{where}"),
        Text(row.state, style=COLOURS.get(row.state, "red")),
        Text(str(row.pid or "")),
        Text(str(row.restarts)),
        Text(size(row.rss) if row.rss else ""),
        Text(detail.partition("\n")[0][:300]),
    ]


def events_command(where: Source, last: int, follow: bool, json: bool) -> None:
    with suppress(KeyboardInterrupt):
        _print_events(where, last, follow, json)


def _print_events(where: Source, last: int, follow: bool, json: bool) -> None:
    page = where.last(last)
    while True:
        for event in page.events:
            if json:
                print_json(event)
            else:
                console().print(Text(_line(event)), soft_wrap=True)
        if not follow:
            return
        time.sleep(FOLLOW_S)
        page = where.after(page.next)


def _line(event: Event) -> str:
    when = datetime.fromtimestamp(event.at).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    after = f" after {event.after_s:.2f} s" if event.after_s is not None else ""
    detail = with_work(event.reason, str(Assignment(event.owner, event.job, event.work)))
    return f"{when}  {event.name:<12} {event.what}{after}{f': {detail}' if detail else ''}"


def top_command(where: Source, every_s: float) -> None:
    screen = Console(highlight=False)
    # Before the alternate screen is entered: an unreachable service is reported on the normal screen.
    where.cluster()
    live = Live(console=screen, screen=screen.is_terminal, auto_refresh=False)
    with suppress(KeyboardInterrupt), shown(live):
        while True:
            body = where.cluster()
            recent = [Text(_line(event), style="dim") for event in where.last(8).events]
            end = Text("Ctrl-C ends this view")
            live.update(Group(processes(body, screen.width), Text(), *recent, end), refresh=True)
            time.sleep(every_s)


def stop_command(folder: Path, names: list[str]) -> None:
    home = ServiceDir(folder)
    home.cluster()
    if names:
        _require_running(home, known=_known(home, names))
        update_desired_state(home, {hold_key(name): STOPPED for name in names}, "stopped by an operator")
        print_line(f"Stopping {', '.join(names)}. Start again with: {command('start', '--dir', str(folder), *names)}")
        return
    running = len(home.running_processes())
    stop_all(home, warn)
    print_line(f"Stopped the service in {folder}: {running} processes." if running else f"No process runs in {folder}.")


def start_command(folder: Path, names: list[str]) -> None:
    home = ServiceDir(folder)
    known = _known(home, names)
    _require_running(home, known)
    held = [name for name in names if name in known.held]
    update_desired_state(home, {hold_key(name): "" for name in names}, "started by an operator")
    print_line(f"Starting {', '.join(held)}." if held else f"{', '.join(names)}: not stopped, nothing to start.")


def scale_command(folder: Path, counts: list[str]) -> None:
    home = ServiceDir(folder)
    changes = dict(map(_count, counts))
    known = read_desired_state(home)
    if not known.known:
        # The cluster was not started by `serve`: this is its first desired state.
        changes[RUNNING] = "yes"
    update_desired_state(home, changes, "scaled by an operator")
    changed = ", ".join(f"{text} (was {_counted(known, text)})" for text in counts)
    later = "" if _is_running(home, known) or not known.known else f", when it is started: {_how_to_start(home)}"
    print_line(f"Scaled the service in {folder} to {changed}{later}")


def _counted(known: DesiredState, text: str) -> int:
    role, host = _role_of(text.partition("=")[0])
    return known.counts.get((role, host), 0)


def _require_running(home: ServiceDir, known: DesiredState) -> None:
    if not _is_running(home, known):
        raise Unreachable(f"the service in {home.folder} is not running; start it with: {_how_to_start(home)}")


def _is_running(home: ServiceDir, known: DesiredState) -> bool:
    """Whether some doctor, on this or another host, reconciles the desired state."""
    if not known.running:
        return False
    if any(role_of(each.name) == "doctor" for each in home.running_processes()):
        return True
    with QueryClient(home.cluster()) as client:
        return client.status(ASK_S) is not None


def _how_to_start(home: ServiceDir) -> str:
    return command("serve", "--dir", str(home.folder))


def _count(text: str) -> tuple[str, str]:
    what, equals, number = text.partition("=")
    if not equals or not number.isdecimal():
        raise UsageError(f"invalid number of processes {text!r}; expected workers=8, gateways=2 or doctors=3")
    role, host = _role_of(what)
    least = 1 if role == "doctor" else 0
    if not least <= int(number) <= MOST:
        raise UsageError(f"invalid number of processes {text!r}; expected {least} to {MOST}")
    return count_key(role, host), number


def _role_of(what: str) -> tuple[Role, str]:
    """Parses `workers` or `workers@host`."""
    plural, _, host = what.partition("@")
    role = _ROLES.get(plural)
    if role is None:
        raise unknown("role", plural, _ROLES)
    return role, check_host(host)


def _known(home: ServiceDir, names: list[str]) -> DesiredState:
    known = read_desired_state(home)
    for name in names:
        if not known.is_counted(name):
            raise unknown("process", name, known.names)
    return known
