"""Describes why a gateway cannot be reached: what happened, at which address, and what to do about it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import BadStatusLine, RemoteDisconnected

from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NameResolutionError,
    NewConnectionError,
    ProxyError,
    ReadTimeoutError,
)
from urllib3.exceptions import SSLError as TlsError
from urllib3.util import parse_url

from cauce.errors import CauceError, Unreachable

PROBE_TIMEOUT_S = 2.0
MENTIONED_S = 5.0
"""Retries that took less are not mentioned in the message."""
NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")
OTHER_SERVER = "a server other than Cauce listens there: check the address (--gateway, CAUCE_GATEWAY)"


@dataclass(frozen=True)
class ConnectionProblem:
    """`lasting`: a retry fails in the same way unless an address or an option is changed."""

    reason: str
    advice: str
    lasting: bool = False


def problem_of(address: str, error: HTTPError | OSError, *, reached: bool) -> ConnectionProblem:
    """Classifies a connection error. `reached`: a gateway has responded at this address before, so the address is
    correct."""
    cause = error.__cause__ or error.__context__
    host = parse_url(address).host
    match error:
        case NameResolutionError():
            unknown = isinstance(cause, socket.gaierror) and cause.errno != socket.EAI_AGAIN
            advice = "check the spelling of the address (--gateway, CAUCE_GATEWAY) and the network"
            return ConnectionProblem(f"host name {host} cannot be resolved", advice, unknown and not reached)
        case TlsError():
            return _tls_problem(address, cause or error, reached=reached)
        case NewConnectionError() | ProxyError() | ConnectionRefusedError():
            reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(error)
            return ConnectionProblem(reason[:1].lower() + reason[1:], _start_advice(address, reached=reached))
        case ConnectTimeoutError() | TimeoutError():
            return ConnectionProblem("the host does not answer", _check_advice(reached=reached))
        case ReadTimeoutError():
            return ConnectionProblem("connected, but no response before the timeout", _check_advice(reached=reached))
    return _broken(address, cause or error, reached=reached)


def _broken(address: str, cause: BaseException, *, reached: bool) -> ConnectionProblem:
    """Describes a connection that was accepted and then closed without a readable response."""
    if not reached and address.startswith("http://") and _speaks_tls(address):
        secure = address.replace("http://", "https://", 1)
        return ConnectionProblem("the server speaks https, not http", f"write the address as {secure}", lasting=True)
    if isinstance(cause, BadStatusLine) and not isinstance(cause, RemoteDisconnected):
        return ConnectionProblem("the server does not speak HTTP", OTHER_SERVER, not reached)
    return ConnectionProblem("the connection was closed without an answer", _check_advice(reached=reached))


def _tls_problem(address: str, cause: BaseException, *, reached: bool) -> ConnectionProblem:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return ConnectionProblem(
            f"its certificate is not trusted ({cause.verify_message})",
            "give the file of the certificate, or of its issuer, with --ca",
            lasting=True,
        )
    if isinstance(cause, ssl.SSLError) and any(each in str(cause) for each in NOT_TLS):
        plain = address.replace("https://", "http://", 1)
        return ConnectionProblem(
            "the server does not speak https", f"write the address as {plain}", lasting=not reached
        )
    return ConnectionProblem("the TLS handshake failed", _check_advice(reached=reached))


def _start_advice(address: str, *, reached: bool) -> str:
    if reached:
        return _check_advice(reached=True)
    port = parse_url(address).port
    if port is None:
        return f"the address has no port; that of a service is 8080 unless it was given another: {address}:8080"
    return f"start the service with ./cauce serve --dir FOLDER --port {port}, or give another address with --gateway"


def _check_advice(*, reached: bool) -> str:
    if reached:
        return "it responded before: check that the service is still running, then run the same command again"
    return "check that the service is running there, or give another address with --gateway"


def _speaks_tls(address: str) -> bool:
    """Probes the server with a TLS handshake that trusts any certificate and sends no data."""
    url = parse_url(address)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        host = (url.host or "").strip("[]")
        with (
            socket.create_connection((host, url.port or 80), PROBE_TIMEOUT_S) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return True
    except OSError:
        return False


def unreachable(problems: dict[str, ConnectionProblem], waited_s: float = 0.0) -> Unreachable:
    """Builds the error of a request to which no gateway responded."""
    waited = f", after retries for {waited_s:.0f} s" if waited_s >= MENTIONED_S else ""
    return Unreachable(f"{described(problems)}{waited}; {next(reversed(problems.values())).advice}")


def described(problems: dict[str, ConnectionProblem]) -> str:
    """Lists the addresses that were tried, each with its problem."""
    if len(problems) == 1:
        ((address, only),) = problems.items()
        return f"cannot reach {address}: {only.reason}"
    each = "; ".join(f"{address}: {problem.reason}" for address, problem in problems.items())
    return f"cannot reach any of {len(problems)} gateways ({each})"


@contextmanager
def unreadable() -> Iterator[None]:
    """Raises Unreachable for responses that cannot be decoded as those of a gateway."""
    try:
        yield
    except ValueError as problem:
        raise Unreachable(f"cannot decode a response of the service ({problem}): {OTHER_SERVER}") from problem


def other_server(address: str, what: str) -> CauceError:
    """Builds the error of a response that did not come from a gateway."""
    return Unreachable(f"{address} answered {what}, unlike a Cauce gateway: {OTHER_SERVER}")
