"""Wire format of datagrams: a message with its sender, authenticated with the cluster's key. Drops invalid ones."""

from __future__ import annotations

import hmac
from hashlib import blake2b

import msgspec

from cauce.doctor.messaging.freshness import Stamp
from cauce.doctor.model.desired_state import DesiredUpdate
from cauce.doctor.model.messages import (
    Ack,
    Coordinator,
    Election,
    ExitReport,
    Generation,
    Heartbeat,
    Hello,
    Kill,
    Launch,
    Leader,
    Message,
    Ok,
    ProcessList,
)
from cauce.doctor.model.status import ClusterStatus, StatusQuery

VERSION = 3
MAX_BYTES = 60_000
_MAC_BYTES = 16


Body = (
    Hello
    | Election
    | Ok
    | Coordinator
    | Leader
    | Heartbeat
    | Ack
    | ExitReport
    | Launch
    | Kill
    | ProcessList
    | DesiredUpdate
    | StatusQuery
    | ClusterStatus
)


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """A message in its envelope."""

    version: int
    cluster: str
    sender: str
    """Empty for senders outside the cluster, such as commands."""
    generation: Generation
    stamp: Stamp
    body: Body


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Envelope)


class Authenticator:
    """Encodes and authenticates datagrams of one cluster, with a keyed MAC."""

    def __init__(self, cluster: str, key: bytes) -> None:
        self._cluster = cluster
        self._key = key

    def encode(self, sender: str, generation: Generation, stamp: Stamp, body: Message) -> bytes:
        data = _encoder.encode([VERSION, self._cluster, sender, generation, stamp, body])
        return self._mac_of(data) + data

    def decode(self, datagram: bytes) -> Envelope | None:
        """None for a datagram that is malformed, of another cluster or version, or has a wrong MAC."""
        mac, data = datagram[:_MAC_BYTES], datagram[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac_of(data)):
            return None
        try:
            envelope = _decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return envelope if envelope.version == VERSION and envelope.cluster == self._cluster else None

    def _mac_of(self, data: bytes) -> bytes:
        return blake2b(data, digest_size=_MAC_BYTES, key=self._key).digest()
