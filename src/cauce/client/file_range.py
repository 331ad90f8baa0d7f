"""A request body that lies in a file: the kernel sends it from the page cache, without a copy into this process."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection

from cauce.errors import JobFailed


@dataclass(frozen=True)
class FileRange:
    """At least one byte of a file, from `start` on."""

    path: str
    start: int
    size: int

    def __len__(self) -> int:
        return self.size

    def send(self, to: socket.socket) -> None:
        """Sends all bytes. Raises JobFailed if the file has become shorter; the connection is then unusable."""
        with open(self.path, "rb", buffering=0) as file:
            sent = to.sendfile(file, self.start, self.size)
        if sent < self.size:
            raise truncated(self.path)


def truncated(path: str) -> JobFailed:
    return JobFailed(f"{path} was truncated during the upload; retry with an unchanged file")


class RangeConnection(HTTPConnection):
    def send(self, data: Any) -> None:
        if isinstance(data, FileRange):
            data.send(self.sock)
        else:
            super().send(data)


class SecureRangeConnection(HTTPSConnection):
    def send(self, data: Any) -> None:
        if isinstance(data, FileRange):
            data.send(self.sock)
        else:
            super().send(data)
