"""The cluster status that a doctor returns to queries: a row per process, and the leader."""

from __future__ import annotations

import msgspec

from cauce.doctor.model.messages import Message

PAGE = 100
RESTARTING = "restarting"


class StatusQuery(Message, frozen=True):
    """Request for a page of the status. Any holder of the cluster's key may send it."""

    nonce: int
    offset: int = 0


class ProcessStatus(msgspec.Struct, frozen=True):
    """The status of a process. `state` is starting, running, paused, hung, lost, ending, exited, restarting or
    stopped."""

    name: str
    role: str
    state: str
    host: str = ""
    pid: int = 0
    generation: str = ""
    leader: bool = False
    ready: bool = False
    restarts: int = 0
    rss: int = 0
    cpu: float | None = None
    """Recent CPU usage, as a fraction of a core."""
    owner: str = ""
    job: str = ""
    work: str = ""
    """Its current task, or the one it held when it exited: of this owner's job, or of no job."""
    quiet_s: float = 0.0
    """Seconds since its last heartbeat."""
    reason: str = ""
    """Why it is in this state. Never names a job."""
    crashes: int = 0
    """Consecutive crashes, each soon after a start."""
    restart_in_s: float | None = None
    """How long the next start is delayed after crashes."""


class ClusterStatus(Message, frozen=True):
    nonce: int
    doctor: str
    leader: str
    epoch: int
    leads: bool
    running: bool
    watch: str
    total: int
    offset: int
    rows: list[ProcessStatus]
