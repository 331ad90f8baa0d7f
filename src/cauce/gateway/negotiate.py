"""Which of the forms that there are fits best what a client accepts (RFC 9110, 12.5.1)."""

from __future__ import annotations

from collections.abc import Sequence

from cauce.gateway.problems import HttpError

_MANY = 50
"""More ranges than this are not looked at."""


def choose(accept: str | None, offered: Sequence[str]) -> str:
    """The best of the offered media types; the first ones win ties. Raises 406 where none fits."""
    if accept is None or not accept.strip():
        return offered[0]
    ranges = [_range(each) for each in accept.split(",")[:_MANY]]
    best, best_quality = "", 0.0
    for media in offered:
        quality = _quality(media, ranges)
        if quality > best_quality:
            best, best_quality = media, quality
    if not best:
        raise HttpError(406, "not-acceptable", f"what is here can be had as {', '.join(offered)}")
    return best


def _range(text: str) -> tuple[str, float]:
    media, *parameters = (each.strip().lower() for each in text.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                quality = float(value)
            except ValueError:
                return media, 0.0
            return media, quality if 0.0 <= quality <= 1.0 else 0.0
    return media, 1.0


def _quality(media: str, ranges: Sequence[tuple[str, float]]) -> float:
    """By the range that names it most closely."""
    family = media.partition("/")[0]
    for pattern in (media, f"{family}/*", "*/*"):
        found = [quality for each, quality in ranges if each == pattern]
        if found:
            return max(found)
    return 0.0
