"""The terminals that commands are tried in, and what has to hold in each of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tests.terminal.terminal import Session


@dataclass(frozen=True)
class Kind:
    """A kind of terminal, as options of `Terminal`."""

    term: str = "xterm-256color"
    width: int = 80
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, object]:
        return {"term": self.term, "width": self.width, "environment": self.environment}

    @property
    def plain(self) -> bool:
        """Whether colours are unwanted there."""
        return self.term == "dumb" or "NO_COLOR" in self.environment


KINDS = {
    "xterm-80": Kind(),
    "xterm-120": Kind(width=120),
    "dumb": Kind("dumb"),
    "no-color": Kind(environment={"NO_COLOR": "1"}),
}
ONE_QUICK = [
    pytest.param(name, marks=pytest.mark.quick if name == "xterm-80" else pytest.mark.slow, id=name) for name in KINDS
]
"""Names of all kinds, one of them for the quick selection."""


def check(session: Session, kind: Kind, code: int = 0) -> None:
    """The exit code, no traceback, a terminal as it was before, and something to read at the end."""
    assert session.code == code, session.text[-3000:]
    assert "Traceback" not in session.text, session.text[-3000:]
    assert session.cursor_shown
    assert session.on_main_screen
    assert session.last_lines, "nothing was printed"
    assert "�" not in "".join(session.last_lines)
    if kind.plain:
        assert not session.coloured, session.raw[-2000:]
    if kind.term == "dumb":
        assert b"\x1b" not in session.raw, session.raw[-2000:]
