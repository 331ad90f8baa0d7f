"""The commands that show and change the processes of a service."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cauce.cli.invocation import command
from cauce.cli.jobs import DEFAULT_GATEWAY, patient, print_json
from cauce.cli.output import console, size, warn
from cauce.cli.progress import shown
from cauce.client.connection_problems import unreadable
from cauce.client.settings import ASK_ANSWER_S, ASK_PATIENCE_S, ConnectionSettings
from cauce.client.transport import Transport
from cauce.doctor.asking import Asker
from cauce.doctor.bodies import ClusterBody, EventsBody, cluster_body, events_after, last_events
from cauce.doctor.control import desired, stop_all, wish
from cauce.doctor.desired import MOST, RUNNING, STOPPED, Desired, count_key, hold_key
from cauce.doctor.events import Event, EventLog
from cauce.doctor.home import Home
from cauce.doctor.names import Role, check_host, order_of, role_of
from cauce.doctor.no_worker import no_worker
from cauce.doctor.view import Row
from cauce.doctor.words import restarting
from cauce.errors import Unreachable, UsageError, unknown
from cauce.fabric.address import open_fabric

ASK_S = 3.0
FOLLOW_S = 0.5
PAGE = 1000
COLOURS = {"running": "green", "starting": "cyan", "stopped": "yellow", "ending": "yellow"}
_ROLES: dict[str, Role] = {"workers": "worker", "gateways": "gateway", "doctors": "doctor"}


class Source(Protocol):
    """Where the cluster can be looked at."""

    def cluster(self) -> ClusterBody: ...

    def last(self, count: int) -> EventsBody: ...

    def after(self, cursor: str) -> EventsBody: ...


class FolderSource:
    """On the host itself: its doctors are asked, and the fabric is read."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._cluster = Home(folder).cluster()
        self._log: EventLog | None = None

    def cluster(self) -> ClusterBody:
        with Asker(self._cluster) as asker:
            view = asker.view(ASK_S)
        if view is None:
            raise Unreachable(
                f"no doctor of the service in {self._folder} answers: it is not running, or all its doctors have "
                f"failed; start it with: {command('serve', '--dir', self._folder)}"
            )
        return cluster_body(view, no_worker(view.rows, view.doctor, self._folder) if view.running else None)

    def _events(self) -> list[Event]:
        if self._log is None:
            self._log = EventLog(open_fabric(self._cluster.fabric, self._cluster.durability))
        return self._log.read(surely=True)

    def last(self, count: int) -> EventsBody:
        return last_events(self._events(), count)

    def after(self, cursor: str) -> EventsBody:
        return events_after(self._events(), cursor, PAGE)


class HttpSource:
    """From anywhere: a gateway is asked."""

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


def source(folder: Path | None, gateways: Sequence[str] | None, token: str, ca: str, *, follow: bool = False) -> Source:
    """`follow`: for a command that goes on for as long as somebody looks at it."""
    if folder is not None:
        return FolderSource(folder)
    asking = ConnectionSettings(token or None, ca or None, ASK_PATIENCE_S, ASK_ANSWER_S, 1, None)
    return HttpSource(list(gateways or [DEFAULT_GATEWAY]), patient(asking) if follow else asking)


def status_command(where: Source, json: bool) -> None:
    body = where.cluster()
    if json:
        print_json(body)
        return
    console().print(processes(body))


def processes(body: ClusterBody) -> Group:
    leader = f"{body.leader} leads, epoch {body.epoch}" if body.leader else "no leader yet"
    state = "" if body.running else ", being stopped"
    table = Table(header_style="bold cyan", expand=False)
    for name in ("process", "state", "pid", "restarts", "memory", "works on"):
        right = name in ("pid", "restarts", "memory")
        table.add_column(name, justify="right" if right else "left", no_wrap=name != "works on")
    for row in body.processes:
        table.add_row(*_cells(row))
    missing = [Text(_sentence(body.no_worker.text), style="bold red")] if body.no_worker is not None else []
    return Group(Text(f"{len(body.processes)} processes, {leader}{state}", style="bold"), table, *missing)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cells(row: Row) -> list[Text]:
    mark = " ★" if row.leader else ""
    where = f" on {row.host}" if row.host and order_of(row.name)[2] != row.host else ""
    told = row.work if row.state == "running" else row.why or row.work
    if row.restart_in_s is not None:
        told = restarting(row.restart_in_s, row.why)
    return [
        Text(f"{row.name}{mark}{where}"),
        Text(row.state, style=COLOURS.get(row.state, "red")),
        Text(str(row.pid or "")),
        Text(str(row.restarts)),
        Text(size(row.rss) if row.rss else ""),
        Text(told.partition("\n")[0][:300]),
    ]


def events_command(where: Source, last: int, follow: bool, json: bool) -> None:
    with suppress(KeyboardInterrupt):
        _tell_events(where, last, follow, json)


def _tell_events(where: Source, last: int, follow: bool, json: bool) -> None:
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
    why = f": {event.why}" if event.why else ""
    return f"{when}  {event.name:<12} {event.what}{after}{why}"


def top_command(where: Source, every_s: float) -> None:
    screen = Console(highlight=False)
    # Before the screen is taken: a service that cannot be reached is reported on the one that people see.
    where.cluster()
    live = Live(console=screen, screen=screen.is_terminal, auto_refresh=False)
    with suppress(KeyboardInterrupt), shown(live):
        while True:
            body = where.cluster()
            recent = [Text(_line(event), style="dim") for event in where.last(8).events]
            live.update(Group(processes(body), Text(), *recent), refresh=True)
            time.sleep(every_s)


def stop_command(folder: Path, names: list[str]) -> None:
    home = Home(folder)
    home.cluster()
    if names:
        _require_running(home, known=_known(home, names))
        wish(home, {hold_key(name): STOPPED for name in names}, "stopped by an operator")
        _print(f"Stopping {', '.join(names)}. Start again with: {command('start', '--dir', str(folder), *names)}")
        return
    running = len(home.survivors())
    stop_all(home, warn)
    _print(f"Stopped the service in {folder}: {running} processes." if running else f"No process runs in {folder}.")


def start_command(folder: Path, names: list[str]) -> None:
    home = Home(folder)
    known = _known(home, names)
    _require_running(home, known)
    held = [name for name in names if name in known.held]
    wish(home, {hold_key(name): "" for name in names}, "started by an operator")
    _print(f"Starting {', '.join(held)}." if held else f"{', '.join(names)}: not stopped, nothing to start.")


def scale_command(folder: Path, counts: list[str]) -> None:
    home = Home(folder)
    wishes = dict(map(_count, counts))
    known = desired(home)
    if not known.known:
        # The first word on a cluster that was not begun by `serve`.
        wishes[RUNNING] = "yes"
    wish(home, wishes, "scaled by an operator")
    changed = ", ".join(f"{text} (was {_counted(known, text)})" for text in counts)
    later = "" if _is_running(home, known) or not known.known else f", when it is started: {_how_to_start(home)}"
    _print(f"Scaled the service in {folder} to {changed}{later}")


def _counted(known: Desired, text: str) -> int:
    role, host = _role_of(text.partition("=")[0])
    return known.counts.get((role, host), 0)


def _require_running(home: Home, known: Desired) -> None:
    if not _is_running(home, known):
        raise Unreachable(f"the service in {home.folder} is not running; start it with: {_how_to_start(home)}")


def _is_running(home: Home, known: Desired) -> bool:
    """Whether some doctor, here or on another host, carries out what is asked for."""
    if not known.running:
        return False
    if any(role_of(each.name) == "doctor" for each in home.survivors()):
        return True
    with Asker(home.cluster()) as asker:
        return asker.view(ASK_S) is not None


def _how_to_start(home: Home) -> str:
    return command("serve", "--dir", str(home.folder))


def _print(line: str) -> None:
    console().print(Text(line), soft_wrap=True)


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
    """Of `workers` or `workers@host`."""
    plural, _, host = what.partition("@")
    role = _ROLES.get(plural)
    if role is None:
        raise unknown("role", plural, _ROLES)
    return role, check_host(host)


def _known(home: Home, names: list[str]) -> Desired:
    known = desired(home)
    for name in names:
        if not known.counted(name):
            raise unknown("process", name, known.names)
    return known
