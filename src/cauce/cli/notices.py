"""How a process says that its broker is not set up as it should be: services in their log, commands in a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cauce.fabric.notices import listen

if TYPE_CHECKING:
    from cauce.broker.finding import Finding

_MORE = "cauce broker check lists all settings"


def tell_in_log(role: str) -> None:
    """For a process of a service, before it opens its fabric."""

    def tell(wrong: Sequence[Finding]) -> None:
        from cauce.gateway.logs import start_logs

        settings = [{"setting": each.setting, "wanted": each.wanted, "found": each.found, "write": each.write}
                    for each in wrong]  # fmt: skip
        start_logs(role).warning("broker has wrong settings", settings=settings, more=_MORE)

    listen(tell)


def tell_in_a_line() -> None:
    """For a command that somebody waits for."""

    def tell(wrong: Sequence[Finding]) -> None:
        from cauce.cli.output import warn

        said = "; ".join(f"{each.setting} is {each.found}, set it in {each.write}" for each in wrong)
        warn(f"the broker has wrong settings: {said}. {_MORE}")

    listen(tell)
