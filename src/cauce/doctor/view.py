"""What a doctor shows of the cluster when it is asked: a row for each process, and who leads."""

from __future__ import annotations

import msgspec

from cauce.doctor.core import Core
from cauce.doctor.desired import Wish
from cauce.doctor.judge import State
from cauce.doctor.lives import Life, Past
from cauce.doctor.messages import Message
from cauce.doctor.names import role_of

PAGE = 100
RESTARTING = "restarting"


class Ask(Message, frozen=True):
    """For a page of the view, from whoever holds the cluster's key."""

    nonce: int
    offset: int = 0


class Row(msgspec.Struct, frozen=True):
    """A process as it stands. Its state is one of starting, running, paused, hung, lost, ending, dead, restarting and
    stopped."""

    name: str
    role: str
    state: str
    host: str = ""
    pid: int = 0
    incarnation: str = ""
    leader: bool = False
    ready: bool = False
    restarts: int = 0
    rss: int = 0
    cpu: float | None = None
    """The share of a core that it took of late."""
    work: str = ""
    quiet_s: float = 0.0
    """How long ago it was last heard."""
    why: str = ""
    crashes: int = 0
    """Consecutive crashes, each soon after a start."""
    restart_in_s: float | None = None
    """How long the next start is delayed after crashes."""


class View(Message, frozen=True):
    nonce: int
    doctor: str
    leader: str
    epoch: int
    leads: bool
    running: bool
    watch: str
    total: int
    offset: int
    rows: list[Row]


def view_of(core: Core, ask: Ask) -> View:
    rows = rows_of(core)
    desired = core.wishes.desired
    return View(
        ask.nonce,
        core.who.name,
        core.bully.leader,
        core.bully.epoch.number,
        core.leads,
        desired.running,
        desired.watch,
        len(rows),
        ask.offset,
        rows[ask.offset : ask.offset + PAGE],
    )


def rows_of(core: Core) -> list[Row]:
    names = dict.fromkeys([*core.wishes.desired.names, *sorted(life.name for life in core.roster.alive())])
    return [_row(core, name) for name in names]


def _row(core: Core, name: str) -> Row:
    life = core.roster.newest(name)
    hold = core.wishes.desired.held.get(name)
    past = core.roster.past(name)
    if life is None or not life.alive:
        return _ended(core, name, past, hold)
    verdict = core.keeper.verdict(life, core.now)
    return _living(core, life, verdict.state.value, verdict.why or past.why, past.crashes)


def _ended(core: Core, name: str, past: Past, hold: Wish | None) -> Row:
    row = Row(name, role_of(name), State.DEAD.value, restarts=max(past.restarts - 1, 0), why=past.why)
    if hold is not None:
        return msgspec.structs.replace(row, state=hold.value, why=hold.why or past.why)
    in_s = round(past.due - core.now, 3)
    if in_s <= 0 or not core.wishes.desired.wants(name):
        return row
    return msgspec.structs.replace(row, state=RESTARTING, why=past.reason(), crashes=past.crashes, restart_in_s=in_s)


def _living(core: Core, life: Life, state: str, why: str, crashes: int) -> Row:
    return Row(
        life.name,
        role_of(life.name),
        state,
        life.host,
        life.pid,
        str(life.incarnation),
        life.name == core.bully.leader,
        life.ready,
        life.restarts,
        life.rss,
        life.cpu,
        life.work,
        round(core.now - life.last_sign(), 3),
        why,
        crashes,
    )
