"""A TCP proxy between a fabric and its broker that closes, stalls and refuses connections, and counts the faults."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress


class Proxy:
    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        """With `tls`, clients connect over TLS; the broker side is plain TCP."""
        self._target = (host, port)
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._flowing = threading.Event()
        self._flowing.set()
        self._refusing = False
        self._lock = threading.Lock()
        self._cut_after: int | None = None
        self.accepted = 0
        self.cuts = 0
        self.refused = 0
        self.moved_bytes = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def cut(self) -> int:
        """Closes all connections; returns their number."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
            self.cuts += bool(pairs)
        for pair in pairs:
            for each in pair:
                _shut(each)
        return len(pairs)

    def cut_after(self, more_bytes: int) -> None:
        """Closes all connections after this many more bytes to the broker."""
        self._cut_after = self.moved_bytes + more_bytes

    def stall(self) -> None:
        """Stops forwarding without closing connections."""
        self._flowing.clear()

    def resume(self) -> None:
        self._flowing.set()

    def refuse(self) -> None:
        """Closes all connections and refuses new ones."""
        self._refusing = True
        self.cut()

    def admit(self) -> None:
        self._refusing = False

    def close(self) -> None:
        self._listener.close()
        self.resume()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                self.refused += 1
                _shut(near)
                near.close()
            else:
                self._connect(near)

    def _connect(self, near: socket.socket) -> None:
        try:
            near = near if self._tls is None else self._tls.wrap_socket(near, server_side=True)
            far = socket.create_connection(self._target)
        except OSError:
            near.close()
            return
        for each in (near, far):
            with suppress(OSError):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self.accepted += 1
            self._pairs.append((near, far))
        threading.Thread(target=self._serve, args=(near, far), daemon=True).start()

    def _serve(self, near: socket.socket, far: socket.socket) -> None:
        """Closes only after the last read: a reused descriptor must not be read from."""
        back = threading.Thread(target=self._pump, args=(far, near, False), daemon=True)
        back.start()
        self._pump(near, far, True)
        back.join()
        near.close()
        far.close()

    def _pump(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._flowing.wait()
                if counted:
                    self._count(len(data))
                sink.sendall(data)
        _shut(source)
        _shut(sink)

    def _count(self, size: int) -> None:
        self.moved_bytes += size
        if self._cut_after is not None and self.moved_bytes >= self._cut_after:
            self._cut_after = None
            self.cut()


def _shut(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
