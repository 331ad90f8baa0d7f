"""Answers the kernel's requests from a VolatileTree. It does no I/O."""

from __future__ import annotations

import errno
import stat
import time
from collections.abc import Callable

from cauce.lab.power import fuse_messages as messages
from cauce.lab.power.fuse_messages import Opcode, Request
from cauce.lab.power.volatile_tree import ROOT, Directory, File, Node, SymbolicLink, VolatileTree

_MODE, _UID, _GID, _SIZE, _ATIME, _MTIME, _ATIME_NOW, _MTIME_NOW = 1, 2, 4, 8, 16, 32, 128, 256

Answer = bytes | None


class RequestHandler:
    """One mount of the tree. The kernel knows nodes by number, from the first lookup until it forgets them."""

    def __init__(self, tree: VolatileTree) -> None:
        self._tree = tree
        self._nodes: dict[int, Node] = {ROOT: tree.root}
        self._lookups: dict[int, int] = {}
        self._listings: dict[int, list[tuple[bytes, Node]]] = {}
        self._last_listing = 0

    def answer(self, request: Request) -> Answer:
        """The whole reply, or None where the kernel expects none."""
        handle = _HANDLERS.get(request.opcode)
        if handle is None:
            return messages.reply(request.unique, error=errno.ENOSYS)
        try:
            body = handle(self, request)
        except OSError as problem:
            return messages.reply(request.unique, error=problem.errno or errno.EIO)
        return None if body is None else messages.reply(request.unique, body)

    def _node(self, request: Request) -> Node:
        return self._nodes[request.node]

    def _file(self, request: Request) -> File:
        node = self._node(request)
        if not isinstance(node, File):
            raise OSError(errno.EISDIR, "not a file")
        return node

    def _directory(self, number: int) -> Directory:
        node = self._nodes[number]
        if not isinstance(node, Directory):
            raise OSError(errno.ENOTDIR, "not a directory")
        return node

    def _entry(self, node: Node) -> bytes:
        self._nodes[node.number] = node
        self._lookups[node.number] = self._lookups.get(node.number, 0) + 1
        return messages.entry_out(node)

    def init(self, request: Request) -> Answer:
        return messages.init_out()

    def nothing(self, request: Request) -> Answer:
        return b""

    def no_reply(self, request: Request) -> Answer:
        return None

    def lookup(self, request: Request) -> Answer:
        return self._entry(self._tree.find(self._directory(request.node), request.names(0)[0]))

    def forget(self, request: Request) -> Answer:
        self._forget(request.node, request.numbers("<Q")[0])
        return None

    def batch_forget(self, request: Request) -> Answer:
        for number, lookups in messages.FORGET_ONE.iter_unpack(request.body[8:]):
            self._forget(number, lookups)
        return None

    def _forget(self, number: int, lookups: int) -> None:
        left = self._lookups.get(number, 0) - lookups
        if left > 0:
            self._lookups[number] = left
        elif number != ROOT:
            self._lookups.pop(number, None)
            self._nodes.pop(number, None)

    def get_attributes(self, request: Request) -> Answer:
        return messages.attributes_out(self._node(request))

    def set_attributes(self, request: Request) -> Answer:
        node = self._node(request)
        fields = messages.SETATTR_IN.unpack_from(request.body)
        valid, size = fields[0], fields[3]
        now = time.time_ns()
        if valid & _SIZE:
            self._tree.truncate(self._file(request), size)
        if valid & _MODE:
            node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(fields[11])
        if valid & _UID:
            node.uid = fields[13]
        if valid & _GID:
            node.gid = fields[14]
        if valid & (_ATIME | _ATIME_NOW):
            node.atime_ns = now if valid & _ATIME_NOW else fields[5] * 10**9 + fields[8]
        if valid & (_MTIME | _MTIME_NOW):
            node.mtime_ns = now if valid & _MTIME_NOW else fields[6] * 10**9 + fields[9]
        node.ctime_ns = now
        return messages.attributes_out(node)

    def read_link(self, request: Request) -> Answer:
        node = self._node(request)
        if not isinstance(node, SymbolicLink):
            raise OSError(errno.EINVAL, "not a symbolic link")
        return node.target

    def symbolic_link(self, request: Request) -> Answer:
        name, target = request.names(0)
        return self._create(request, name, stat.S_IFLNK | 0o777, target)

    def make_node(self, request: Request) -> Answer:
        return self._create(request, request.names(16)[0], request.numbers("<I")[0])

    def make_directory(self, request: Request) -> Answer:
        return self._create(request, request.names(8)[0], stat.S_IFDIR | request.numbers("<I")[0])

    def create(self, request: Request) -> Answer:
        entry = self._create(request, request.names(16)[0], stat.S_IFREG | request.numbers("<II")[1])
        return entry + messages.OPEN_OUT.pack(0, messages.KEEP_CACHE, 0)

    def _create(self, request: Request, name: bytes, mode: int, target: bytes = b"") -> bytes:
        parent = self._directory(request.node)
        return self._entry(self._tree.create(parent, name, mode, request.owner, target))

    def unlink(self, request: Request) -> Answer:
        self._tree.remove(self._directory(request.node), request.names(0)[0], directory=False)
        return b""

    def remove_directory(self, request: Request) -> Answer:
        self._tree.remove(self._directory(request.node), request.names(0)[0], directory=True)
        return b""

    def rename(self, request: Request) -> Answer:
        return self._rename(request, 8, 0)

    def rename2(self, request: Request) -> Answer:
        return self._rename(request, 16, request.numbers("<QI")[1])

    def _rename(self, request: Request, after: int, flags: int) -> Answer:
        if flags:
            raise OSError(errno.EINVAL, "flags of rename are not supported")
        old, new = request.names(after)
        target = self._directory(request.numbers("<Q")[0])
        self._tree.rename(self._directory(request.node), old, target, new)
        return b""

    def link(self, request: Request) -> Answer:
        node = self._nodes[request.numbers("<Q")[0]]
        self._tree.link(node, self._directory(request.node), request.names(8)[0])
        return self._entry(node)

    def read(self, request: Request) -> Answer:
        _, offset, size, *_ = messages.IO_IN.unpack_from(request.body)
        return bytes(memoryview(self._file(request).content)[offset : offset + size])

    def write(self, request: Request) -> Answer:
        _, offset, size, *_ = messages.IO_IN.unpack_from(request.body)
        start = messages.IO_IN.size
        self._tree.write(self._file(request), offset, bytes(request.body[start : start + size]))
        return messages.WRITE_OUT.pack(size, 0)

    def file_system(self, request: Request) -> Answer:
        return messages.statfs_out()

    def sync(self, request: Request) -> Answer:
        self._tree.sync(self._node(request))
        return b""

    def open_directory(self, request: Request) -> Answer:
        directory = self._directory(request.node)
        self._last_listing += 1
        # As of now, so that offsets stay valid if names change while it is read.
        self._listings[self._last_listing] = list(directory.entries.items())
        return messages.OPEN_OUT.pack(self._last_listing, 0, 0)

    def read_directory(self, request: Request) -> Answer:
        handle, offset, size, *_ = messages.IO_IN.unpack_from(request.body)
        if offset == 0:
            self._listings[handle] = list(self._directory(request.node).entries.items())
        return messages.directory_entries(self._listings[handle], offset, size)

    def release_directory(self, request: Request) -> Answer:
        self._listings.pop(request.numbers("<Q")[0], None)
        return b""


_HANDLERS: dict[int, Callable[[RequestHandler, Request], Answer]] = {
    Opcode.LOOKUP: RequestHandler.lookup,
    Opcode.FORGET: RequestHandler.forget,
    Opcode.GETATTR: RequestHandler.get_attributes,
    Opcode.SETATTR: RequestHandler.set_attributes,
    Opcode.READLINK: RequestHandler.read_link,
    Opcode.SYMLINK: RequestHandler.symbolic_link,
    Opcode.MKNOD: RequestHandler.make_node,
    Opcode.MKDIR: RequestHandler.make_directory,
    Opcode.UNLINK: RequestHandler.unlink,
    Opcode.RMDIR: RequestHandler.remove_directory,
    Opcode.RENAME: RequestHandler.rename,
    Opcode.LINK: RequestHandler.link,
    Opcode.READ: RequestHandler.read,
    Opcode.WRITE: RequestHandler.write,
    Opcode.STATFS: RequestHandler.file_system,
    Opcode.RELEASE: RequestHandler.nothing,
    Opcode.FSYNC: RequestHandler.sync,
    Opcode.INIT: RequestHandler.init,
    Opcode.OPENDIR: RequestHandler.open_directory,
    Opcode.READDIR: RequestHandler.read_directory,
    Opcode.RELEASEDIR: RequestHandler.release_directory,
    Opcode.FSYNCDIR: RequestHandler.sync,
    Opcode.CREATE: RequestHandler.create,
    Opcode.INTERRUPT: RequestHandler.no_reply,
    Opcode.DESTROY: RequestHandler.nothing,
    Opcode.BATCH_FORGET: RequestHandler.batch_forget,
    Opcode.RENAME2: RequestHandler.rename2,
}
"""The kernel emulates the others, such as OPEN and FLUSH, or reports that they are not supported."""
