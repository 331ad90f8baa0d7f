"""Reports wrong broker settings: services log them, commands print one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cauce.fabric.rabbitmq.settings.notices import listen

if TYPE_CHECKING:
    from cauce.fabric.rabbitmq.settings.finding import Finding

_MORE = "cauce broker check lists all settings"


def log_wrong_settings(role: str) -> None:
    """Logs wrong settings. Called by a service process before it opens its fabric."""

    def report(wrong: Sequence[Finding]) -> None:
        from cauce.process.telemetry.logs import start_logs

        settings = [{"setting": each.setting, "wanted": each.wanted, "found": each.found, "write": each.write}
                    for each in wrong]  # fmt: skip
        start_logs(role).warning("broker has wrong settings", settings=settings, more=_MORE)

    listen(report)


def warn_of_wrong_settings() -> None:
    """Prints wrong settings as a warning. Called by commands."""

    def report(wrong: Sequence[Finding]) -> None:
        from cauce.terminal.console import warn

        settings = "; ".join(f"{each.setting} is {each.found}, set it in {each.write}" for each in wrong)
        warn(f"the broker has wrong settings: {settings}. {_MORE}")

    listen(report)
