"""The times by which doctors judge. On one host a death is seen exactly, so silence may be given generous time."""

from __future__ import annotations

import msgspec

from cauce.errors import UsageError


class Timing(msgspec.Struct, frozen=True):
    """In seconds. All silence is measured on a clock that stands still while its owner does."""

    tick: float = 0.1
    beat: float = 0.5
    announce: float = 0.25
    """How often a leader says that it leads."""
    listen: float = 0.6
    """How long a doctor that has just started waits for word of a leader."""
    leader_silence: float = 2.0
    ok: float = 0.4
    coordinator: float = 1.0
    paused: float = 10.0
    hung: float = 60.0
    start: float = 30.0
    """From a launch to the first sign of life."""
    lost: float = 5.0
    """Of silence after which another host counts as out of reach."""
    orphan: float = 2.5
    """Without word of any doctor of its host, a process starts one."""
    steady: float = 5.0
    """A process that was ready for so long before it died did not crash soon after its start."""
    backoff: float = 60.0
    """The longest pause before a process that keeps crashing is started again."""
    full: float = 2.0
    """Before a process is started again that found no room: the disk may have been cleared by then."""
    stop: float = 4.7
    """When whatever has not ended by itself is ended."""

    @property
    def stride(self) -> float:
        """The most that one look at the clock may move it: who was not running cannot have listened."""
        return 4 * self.tick


def timing_of(given: list[str], base: Timing | None = None) -> Timing:
    """With times given as NAME=SECONDS."""
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
