"""Content negotiation: selects a media type by the Accept header (RFC 9110, 12.5.1)."""

from __future__ import annotations

from collections.abc import Sequence

from cauce.gateway.asgi.problems import HttpError

_MAX_RANGES = 50
"""Further media ranges of an Accept header are ignored."""


def choose(accept: str | None, offered: Sequence[str]) -> str:
    """The offered media type with the highest quality; ties go to the first. Raises 406 if none is acceptable."""
    if accept is None or not accept.strip():
        return offered[0]
    ranges = [_range(each) for each in accept.split(",")[:_MAX_RANGES]]
    best, best_quality = "", 0.0
    for media in offered:
        quality = _quality(media, ranges)
        if quality > best_quality:
            best, best_quality = media, quality
    if not best:
        raise HttpError(
            406, "not-acceptable", f"no accepted media type is available; expected one of {', '.join(offered)}"
        )
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
    """The quality of the most specific matching range."""
    family = media.partition("/")[0]
    for pattern in (media, f"{family}/*", "*/*"):
        found = [quality for each, quality in ranges if each == pattern]
        if found:
            return max(found)
    return 0.0
