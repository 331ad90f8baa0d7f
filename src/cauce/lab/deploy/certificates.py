"""The certificates of the RabbitMQ cluster: an authority of the deployment's own, and one certificate for all nodes.

OpenSSL makes them; keys are never written outside of a private temporary folder.
"""

from __future__ import annotations

import ssl
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cauce.errors import UsageError

_DAYS = 3650
_RENEW_S = 90 * 24 * 60 * 60
"""A certificate that expires within this time is issued again."""
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
_AUTHORITY = ["basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=critical,keyCertSign,cRLSign"]
_SERVER = ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature", "extendedKeyUsage=serverAuth"]


@dataclass(frozen=True)
class Certificates:
    """Texts in PEM format."""

    authority: str
    authority_key: str = field(repr=False)
    """Signs the certificates of nodes; needed only to issue another one, and never part of a container. Empty if its
    file was moved away."""
    server: str
    server_key: str = field(repr=False)


def issued(hosts: Sequence[str], known: Certificates | None = None) -> Certificates:
    """Certificates for nodes with these names. Known ones are kept while they are valid; otherwise the known authority
    signs the new one, so that clients need not be changed."""
    if known is not None and is_valid(known, hosts):
        return known
    if known is not None and not known.authority_key:
        raise UsageError(
            "the certificate of RabbitMQ must be issued again, and ca.key is missing: put it back beside ca.crt, "
            "or remove ca.crt too, for another authority"
        )
    with tempfile.TemporaryDirectory(prefix="cauce-tls-") as name:
        folder = Path(name)
        if known is None or _expires(known.authority):
            _make(folder, "authority", "/CN=Cauce", _AUTHORITY, ["-x509", "-days", str(_DAYS)])
        else:
            (folder / "authority.pem").write_text(known.authority)
            (folder / "authority.key").write_text(known.authority_key)
        _sign(folder, hosts)
        return Certificates(
            *((folder / each).read_text() for each in ("authority.pem", "authority.key", "server.pem", "server.key"))
        )


def is_valid(certificates: Certificates, hosts: Iterable[str]) -> bool:
    """Whether clients accept these certificates for each of the names, now and for some time."""
    if _expires(certificates.server) or _expires(certificates.authority):
        return False
    try:
        with _contexts(certificates) as (server, client):
            for host in hosts:
                _shake_hands(server, client, host)
    except ssl.SSLError:
        return False
    return True


def _make(folder: Path, name: str, subject: str, extensions: Sequence[str], options: Sequence[str]) -> None:
    added = [text for extension in extensions for text in ("-addext", extension)]
    files = ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.pem")]
    _openssl("req", *_KEY, "-subj", subject, *added, *options, *files)


def _sign(folder: Path, hosts: Sequence[str]) -> None:
    _make(folder, "server", "/CN=RabbitMQ", (), ())
    names = ",".join(f"DNS:{host}" for host in hosts)
    extensions = folder / "extensions"
    own = [*_SERVER, f"subjectAltName={names}", "subjectKeyIdentifier=hash", "authorityKeyIdentifier=keyid"]
    extensions.write_text("\n".join(own) + "\n")
    signer = ["-CA", str(folder / "authority.pem"), "-CAkey", str(folder / "authority.key"), "-CAcreateserial"]
    request, made = str(folder / "server.pem"), folder / "server.signed"
    _openssl(
        "x509", "-req", "-in", request, *signer, "-days", str(_DAYS), "-extfile", str(extensions), "-out", str(made)
    )
    made.replace(folder / "server.pem")


def _expires(certificate: str) -> bool:
    """Whether it expires soon, or has expired."""
    command = ["openssl", "x509", "-noout", "-checkend", str(_RENEW_S)]
    return _run(command, certificate).returncode != 0


@contextmanager
def _contexts(certificates: Certificates) -> Iterator[tuple[ssl.SSLContext, ssl.SSLContext]]:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.create_default_context(cadata=certificates.authority)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(certificates.server_key + certificates.server)
        file.flush()
        server.load_cert_chain(file.name)
    yield server, client


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> None:
    """A TLS handshake in memory; raises an SSLError if the client refuses the certificate."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname=host)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    sides = [near, far]
    while sides:
        for side in list(sides):
            try:
                side.do_handshake()
                sides.remove(side)
            except ssl.SSLWantReadError:
                pass


def _openssl(*arguments: str) -> None:
    done = _run(["openssl", *arguments])
    if done.returncode:
        raise UsageError(f"openssl could not issue the certificate of RabbitMQ: {done.stderr.strip()[-300:]}")


def _run(command: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UsageError("openssl is not installed; it issues the certificate of RabbitMQ: install it first") from None
