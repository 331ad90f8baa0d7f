"""Whose request it is: the owner of its token, or this machine's own where none is needed."""

from __future__ import annotations

import ipaddress

from starlette.requests import Request

from cauce.errors import UsageError
from cauce.gateway.names import LOCAL
from cauce.gateway.problems import HttpError
from cauce.gateway.tokens import Tokens
from cauce.wire.http import AUTHORIZATION


class Access:
    def __init__(self, tokens: Tokens, *, needs_token: bool) -> None:
        self._tokens = tokens
        self._needs_token = needs_token

    def owner(self, request: Request) -> str:
        """Raises 401 where it cannot be told."""
        given = request.headers.getlist(AUTHORIZATION)
        if given:
            scheme, _, token = given[0].strip().partition(" ")
            owner = self._owner_of(token.strip()) if len(given) == 1 and scheme.lower() == "bearer" else None
            if owner is None:
                raise _unauthorized(
                    "this service does not know the token that was sent: check it, or ask the operator for another"
                )
            return owner
        if self._needs_token:
            raise _unauthorized(
                "this service needs a token: give one with --token or CAUCE_TOKEN (over HTTP, as in `Authorization: "
                "Bearer TOKEN`); its operator makes them with `cauce token create NAME --dir FOLDER`"
            )
        if not is_loopback(_host(request)):
            # A page in a browser of this machine may reach us under a name of its own; it must not be taken for us.
            raise _unauthorized("without a token this gateway is to be addressed as localhost or 127.0.0.1")
        return LOCAL

    def _owner_of(self, token: str) -> str | None:
        try:
            return self._tokens.owner(token)
        except (UsageError, OSError):
            # Whoever looks after the file is told at the start; here nobody gets in.
            return None


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") in ("localhost", "")


def _host(request: Request) -> str:
    """The host that the client believes to speak to, without its port."""
    told = request.headers.get("host", "").strip()
    if told.startswith("["):
        return told[1:].partition("]")[0]
    return told.rpartition(":")[0] if ":" in told else told


def _unauthorized(said: str) -> HttpError:
    return HttpError(401, "unauthorized", said, {"WWW-Authenticate": 'Bearer realm="cauce"'})
