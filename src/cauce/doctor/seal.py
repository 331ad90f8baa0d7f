"""Datagrams as bytes: a letter with its sender, sealed with the cluster's key. What cannot be opened is dropped."""

from __future__ import annotations

import hmac
from hashlib import blake2b

import msgspec

from cauce.doctor.desired import Wished
from cauce.doctor.messages import (
    Ack,
    Beat,
    Census,
    Coordinator,
    Died,
    Election,
    Incarnation,
    Kill,
    Launch,
    Leader,
    Message,
    Ok,
)
from cauce.doctor.view import Ask, View

VERSION = 1
MOST_BYTES = 60_000
_SEAL_BYTES = 16


Body = Election | Ok | Coordinator | Leader | Beat | Ack | Died | Launch | Kill | Census | Wished | Ask | View


class Letter(msgspec.Struct, frozen=True, array_like=True):
    version: int
    cluster: str
    sender: str
    """Empty for those who are no process of the cluster, such as commands."""
    incarnation: Incarnation
    body: Body


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Letter)


class Sealer:
    def __init__(self, cluster: str, key: bytes) -> None:
        self._cluster = cluster
        self._key = key

    def seal(self, sender: str, incarnation: Incarnation, body: Message) -> bytes:
        data = _encoder.encode([VERSION, self._cluster, sender, incarnation, body])
        return self._seal_of(data) + data

    def open(self, datagram: bytes) -> Letter | None:
        """None for garbage, for other clusters' letters and for those of strangers."""
        seal, data = datagram[:_SEAL_BYTES], datagram[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal_of(data)):
            return None
        try:
            letter = _decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return letter if letter.version == VERSION and letter.cluster == self._cluster else None

    def _seal_of(self, data: bytes) -> bytes:
        return blake2b(data, digest_size=_SEAL_BYTES, key=self._key).digest()
