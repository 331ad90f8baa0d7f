"""Timeouts of failure detection. Exits on the same host are detected exactly, so timeouts can be generous."""

from __future__ import annotations

import msgspec

from cauce.errors import UsageError


class Timing(msgspec.Struct, frozen=True):
    """In seconds. Silence is measured by a `PauseAwareClock`, which excludes pauses of the measuring process."""

    tick: float = 0.1
    beat: float = 0.5
    announce: float = 0.25
    """Interval of the leader's announcements."""
    listen: float = 0.6
    """How long a starting doctor waits for a leader before it starts an election."""
    leader_silence: float = 2.0
    ok: float = 0.4
    coordinator: float = 1.0
    paused: float = 10.0
    hung: float = 60.0
    start: float = 30.0
    """Timeout from a launch to the first heartbeat."""
    lost: float = 5.0
    """Silence after which another host counts as unreachable."""
    orphan: float = 2.5
    """Silence of all doctors of its host after which a process starts one."""
    steady: float = 5.0
    """A process that was ready for this long resets its crash counter."""
    backoff: float = 60.0
    """Maximum backoff before a crashing process is restarted."""
    full: float = 2.0
    """Delay before the restart of a process that exited because the disk was full."""
    stop: float = 4.7
    """Grace period after SIGTERM before SIGKILL."""

    @property
    def stride(self) -> float:
        """Limit of one advance of the `PauseAwareClock`: a longer gap means that this process did not run."""
        return 4 * self.tick


def timing_of(given: list[str], base: Timing | None = None) -> Timing:
    """Applies settings of the form NAME=SECONDS to `base`."""
    chosen = {name: getattr(base or Timing(), name) for name in Timing.__struct_fields__}
    for text in given:
        name, _, value = text.partition("=")
        try:
            number = type(chosen[name])(value)
        except (KeyError, ValueError):
            known = ", ".join(f"{name}={value:g}" for name, value in chosen.items())
            raise UsageError(f"invalid --timing {text}; expected NAME=SECONDS, one of {known}") from None
        if not 0 < number < 1e6:
            raise UsageError(f"invalid --timing {text}; the value must be greater than 0 and less than 1,000,000")
        chosen[name] = number
    return Timing(**chosen)
