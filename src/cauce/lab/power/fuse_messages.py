"""Messages of the FUSE protocol, version 7, as `linux/fuse.h` defines them: those that this file system needs.

There is no library in between, so that only Linux and root are needed to run it.
"""

from __future__ import annotations

import stat
import struct
from dataclasses import dataclass
from enum import IntEnum

from cauce.lab.power.volatile_tree import Directory, File, Node, SymbolicLink

MAJOR, MINOR = 7, 31
MAX_WRITE_BYTES = 1 << 20
REQUEST_BYTES = MAX_WRITE_BYTES + 4096
_MAX_PAGES = MAX_WRITE_BYTES // 4096
_BIG_WRITES, _MAX_PAGES_FLAG = 1 << 5, 1 << 22
_VALID_S = 3600
"""The kernel may cache names and attributes: all changes go through it."""
_BLOCK_BYTES = 4096


class Opcode(IntEnum):
    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    READLINK = 5
    SYMLINK = 6
    MKNOD = 8
    MKDIR = 9
    UNLINK = 10
    RMDIR = 11
    RENAME = 12
    LINK = 13
    READ = 15
    WRITE = 16
    STATFS = 17
    RELEASE = 18
    FSYNC = 20
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    FSYNCDIR = 30
    CREATE = 35
    INTERRUPT = 36
    DESTROY = 38
    BATCH_FORGET = 42
    RENAME2 = 45


SYNCS = frozenset({Opcode.FSYNC, Opcode.FSYNCDIR})
CHANGES = SYNCS | {
    *(Opcode.SETATTR, Opcode.SYMLINK, Opcode.MKNOD, Opcode.MKDIR, Opcode.UNLINK, Opcode.RMDIR, Opcode.RENAME),
    *(Opcode.LINK, Opcode.WRITE, Opcode.CREATE, Opcode.RENAME2),
}
"""Requests that change the content or sync it."""

_IN_HEADER = struct.Struct("<IIQQIIIHH")
_OUT_HEADER = struct.Struct("<IiQ")
_INIT_OUT = struct.Struct("<IIIIHHIIHHII24x")
_ATTRIBUTES = struct.Struct("<6Q10I")
_ENTRY_OUT = struct.Struct("<QQQQII")
_ATTRIBUTES_OUT = struct.Struct("<QII")
_STATFS_OUT = struct.Struct("<5Q4I24x")
_DIRECTORY_ENTRY = struct.Struct("<QQII")
OPEN_OUT = struct.Struct("<QII")
WRITE_OUT = struct.Struct("<II")
SETATTR_IN = struct.Struct("<II6Q3IIIIII")
IO_IN = struct.Struct("<QQIIQII")
FORGET_ONE = struct.Struct("<QQ")
KEEP_CACHE = 2


@dataclass(frozen=True)
class Request:
    opcode: int
    unique: int
    node: int
    owner: tuple[int, int]
    body: memoryview

    @classmethod
    def decode(cls, data: bytes) -> Request:
        length, opcode, unique, node, uid, gid, _, _, _ = _IN_HEADER.unpack_from(data)
        return cls(opcode, unique, node, (uid, gid), memoryview(data)[_IN_HEADER.size : length])

    def numbers(self, form: str) -> tuple[int, ...]:
        return struct.unpack_from(form, self.body)

    def names(self, after: int) -> list[bytes]:
        """Names that follow the fixed part, each with a zero byte at its end."""
        return bytes(self.body[after:]).split(b"\0")[:-1]


def reply(unique: int, body: bytes = b"", error: int = 0) -> bytes:
    return _OUT_HEADER.pack(_OUT_HEADER.size + len(body), -error, unique) + body


def init_out() -> bytes:
    flags = _BIG_WRITES | _MAX_PAGES_FLAG
    return _INIT_OUT.pack(MAJOR, MINOR, 1 << 17, flags, 16, 12, MAX_WRITE_BYTES, 1, _MAX_PAGES, 0, 0, 0)


def entry_out(node: Node) -> bytes:
    return _ENTRY_OUT.pack(node.number, 0, _VALID_S, _VALID_S, 0, 0) + _attributes(node)


def attributes_out(node: Node) -> bytes:
    return _ATTRIBUTES_OUT.pack(_VALID_S, 0, 0) + _attributes(node)


def _attributes(node: Node) -> bytes:
    size = _size(node)
    seconds, rests = zip(*(divmod(each, 10**9) for each in (node.atime_ns, node.mtime_ns, node.ctime_ns)), strict=True)
    blocks = (size + 511) // 512
    links = 2 * bool(node.links) if isinstance(node, Directory) else node.links
    rest = (*rests, node.mode, links, node.uid, node.gid, 0, _BLOCK_BYTES, 0)
    return _ATTRIBUTES.pack(node.number, size, blocks, *seconds, *rest)


def _size(node: Node) -> int:
    if isinstance(node, File):
        return len(node.content)
    return len(node.target) if isinstance(node, SymbolicLink) else _BLOCK_BYTES


def statfs_out() -> bytes:
    blocks = 1 << 20
    return _STATFS_OUT.pack(blocks, blocks, blocks, blocks, blocks, _BLOCK_BYTES, 255, _BLOCK_BYTES, 0)


def directory_entries(listing: list[tuple[bytes, Node]], offset: int, limit_bytes: int) -> bytes:
    """As many entries from this offset as fit. The offset of an entry is the number of the next one."""
    result = bytearray()
    for index, (name, node) in enumerate(listing[offset:], offset + 1):
        entry = _DIRECTORY_ENTRY.pack(node.number, index, len(name), stat.S_IFMT(node.mode) >> 12) + name
        entry += bytes(-len(entry) % 8)
        if len(result) + len(entry) > limit_bytes:
            break
        result += entry
    return bytes(result)
