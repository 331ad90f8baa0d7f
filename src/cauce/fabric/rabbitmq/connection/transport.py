"""Reads frames from the socket with few calls and few copies; the library reads a large frame in small pieces and
copies them repeatedly."""

from __future__ import annotations

import socket
import struct

from amqp.exceptions import UnexpectedFrame
from amqp.transport import SSLTransport, TCPTransport

_HEAD = struct.Struct(">BHI")
_END = 0xCE
_BUFFER_BYTES = 64 << 10

Frame = tuple[int, int, bytes | bytearray]
"""Type, channel and payload."""


class _Buffered:
    """Small frames are read through a buffer; a large payload is received directly into its final memory."""

    sock: socket.socket
    connected: bool
    _ahead: bytearray | None = None
    _at = 0
    _until = 0

    @property
    def pending(self) -> bool:
        """Whether the buffer holds data that was not consumed yet."""
        return self._at < self._until

    def read_frame(self, unpack: object = None) -> Frame:
        try:
            kind, channel, size = _HEAD.unpack(self._take(_HEAD.size))
            payload = self._take(size)
            end = self._take(1)[0]
        except OSError:
            # Also after a timeout within a frame: reading cannot resume in the middle of a frame.
            self.connected = False
            raise
        if end != _END:
            raise UnexpectedFrame(f"a frame of type {kind} has no end marker")
        return kind, channel, payload

    def _take(self, size: int) -> bytes | bytearray:
        if self._ahead is None:
            self._ahead = bytearray(_BUFFER_BYTES)
        if size > _BUFFER_BYTES:
            return self._take_large(self._ahead, size)
        while self._until - self._at < size:
            self._fill(self._ahead)
        taken = bytes(memoryview(self._ahead)[self._at : self._at + size])
        self._at += size
        return taken

    def _take_large(self, ahead: bytearray, size: int) -> bytearray:
        taken = bytearray(size)
        have = self._until - self._at
        taken[:have] = memoryview(ahead)[self._at : self._until]
        self._at = self._until = 0
        view = memoryview(taken)
        while have < size:
            have += self._receive(view[have:])
        return taken

    def _fill(self, ahead: bytearray) -> None:
        if self._at:
            rest = ahead[self._at : self._until]
            ahead[: len(rest)] = rest
            self._at, self._until = 0, len(rest)
        self._until += self._receive(memoryview(ahead)[self._until :])

    def _receive(self, into: memoryview) -> int:
        count = self.sock.recv_into(into)
        if not count:
            raise OSError("the broker has closed the connection")
        return count


class PlainTransport(_Buffered, TCPTransport):  # type: ignore[misc]
    pass


class TlsTransport(_Buffered, SSLTransport):  # type: ignore[misc]
    pass
