"""Masks user and password in addresses, for messages, logs, process titles and commands to paste."""

from __future__ import annotations

import re

MASK = "***"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/+|amqps?:", re.IGNORECASE)
_FILES = re.compile(r"files:(?!//)", re.IGNORECASE)
_PORT = re.compile(r":(?!\d{1,5}(?:[,/?]|$))[^,?\]]*$")
_TO_LAST_AT = rf"(?:(?!\s(?:{_SCHEME.pattern})).)*@"
"""Up to the last `@` of the line, or before the next address: a password may contain spaces."""
_IN_TEXT = rf"""\b(?!(?:{_SCHEME.pattern})/*user:password@)(?:
    (?P<broker>amqps?:/+){_TO_LAST_AT}    # may also mask a host, which is harmless
    |(?P<web>[A-Z][A-Z0-9+.-]*://)(?=[^\s/@:]+:(?!\d{{1,5}}(?:[\s,/?;.)]|$))[^\s/@]){_TO_LAST_AT}
    |(?P<other>{_SCHEME.pattern})\S*@)"""
"""Not the placeholder, in messages that show how to write an address. An address that is not a broker's extends beyond
a space only where a password has begun: a name, and after a colon something that is not a port."""


def masked_address(address: str) -> str:
    """Masks everything before the last `@`, even in an invalid address. A `files:` path is returned unchanged."""
    if _FILES.match(address):
        return address
    found = _SCHEME.match(address)
    scheme = found[0] if found is not None else ""
    _, at, place = address[len(scheme) :].rpartition("@")
    if at:
        return f"{scheme}{MASK}@{place}"
    # Without an `@`, a port that is not a number may be a password.
    return scheme + _PORT.sub(f":{MASK}", place) if scheme.endswith("//") else address


def masked_text(text: str) -> str:
    """Masks all addresses in a text."""
    if "@" not in text:
        return text
    # Compiled here, once: every command starts with a look at its arguments, and few of them have an address.
    pattern = re.compile(
        _IN_TEXT,
        re.IGNORECASE | re.VERBOSE,
    )
    return pattern.sub(lambda found: f"{found['broker'] or found['web'] or found['other']}{MASK}@", text)
