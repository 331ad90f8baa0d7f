"""The content of a file system, twice: as processes see it, and as it is on the disk. A change reaches the disk when it
is synced. A power cut drops the other changes, or all but some of them.

It is stricter than file systems of Linux: a sync of a file does not sync its name. Like them, it keeps the changes of a
directory in order, and a rename between two directories is one change of both. Owners, modes and times are not lost.

With `writeback_s` it is as lenient as ext4, for programs that rely on that: changes of names are not lost, and content
reaches the disk after this time without a sync.
"""

from __future__ import annotations

import errno
import os
import random
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import msgspec

ROOT = 1
BLOCK_BYTES = 4096

Survivors = Literal["none", "ordered", "blocks"]
"""Unsynced changes that survive a cut: none; of each file and each directory the first ones, with the next write torn;
or any blocks of a file, with zeros or old data between them."""


class CutReport(msgspec.Struct, frozen=True):
    """What a cut dropped: bytes of unsynced writes, the number of these writes, and changes of directories."""

    dropped_bytes: int
    dropped_writes: int
    dropped_names: int
    survived: int
    """Unsynced writes and changes of directories that were kept."""


@dataclass(frozen=True)
class Write:
    """Bytes at an offset; a truncation has no bytes, and the new size as its offset."""

    offset: int
    data: bytes
    truncates: bool = False
    at: float = 0.0
    """When it was written, by the monotonic clock."""

    def apply(self, content: bytearray) -> None:
        if self.truncates:
            del content[self.offset :]
        if len(content) < self.offset:
            content.extend(bytes(self.offset - len(content)))
        content[self.offset : self.offset + len(self.data)] = self.data


@dataclass(eq=False)
class Node:
    """A file, a directory or a symbolic link. `links` counts its names, as processes see them."""

    number: int
    mode: int
    uid: int = 0
    gid: int = 0
    links: int = 0
    atime_ns: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0

    def touch(self) -> None:
        self.mtime_ns = self.ctime_ns = time.time_ns()


@dataclass(eq=False)
class File(Node):
    content: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Write] = field(default_factory=list)


@dataclass(eq=False)
class SymbolicLink(Node):
    target: bytes = b""


@dataclass(eq=False)
class Directory(Node):
    entries: dict[bytes, Node] = field(default_factory=dict)
    durable: dict[bytes, Node] = field(default_factory=dict)
    pending: list[Renaming] = field(default_factory=list)


Edit = tuple[Directory, bytes, Node | None]


@dataclass(frozen=True, eq=False)
class Renaming:
    """Names that are set or removed at once, in one directory or in two."""

    edits: tuple[Edit, ...]

    def directories(self) -> list[Directory]:
        return list(dict.fromkeys(directory for directory, _, _ in self.edits))


class VolatileTree:
    """Not thread-safe. Raises OSError as the system calls do."""

    def __init__(self, writeback_s: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._writeback_s = writeback_s
        self._clock = clock
        self._last = ROOT
        self.root = Directory(ROOT, stat.S_IFDIR | 0o755, links=1)
        self.root.touch()
        self._unsynced: dict[Node, None] = {}

    def create(self, parent: Directory, name: bytes, mode: int, owner: tuple[int, int], target: bytes = b"") -> Node:
        if name in parent.entries:
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        self._last += 1
        kind = {stat.S_IFDIR: Directory, stat.S_IFREG: File, stat.S_IFLNK: SymbolicLink}.get(stat.S_IFMT(mode))
        if kind is None:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        node: Node = kind(self._last, mode, *owner)
        if isinstance(node, SymbolicLink):
            node.target = target
        node.touch()
        node.atime_ns = node.mtime_ns
        self._change((parent, name, node))
        return node

    def link(self, node: Node, parent: Directory, name: bytes) -> None:
        if name in parent.entries:
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        self._change((parent, name, node))

    def remove(self, parent: Directory, name: bytes, *, directory: bool) -> None:
        node = self.find(parent, name)
        if isinstance(node, Directory) != directory:
            number = errno.ENOTDIR if directory else errno.EISDIR
            raise OSError(number, os.strerror(number))
        _check_replaceable(node)
        self._change((parent, name, None))

    def rename(self, parent: Directory, name: bytes, new_parent: Directory, new_name: bytes) -> None:
        node = self.find(parent, name)
        replaced = new_parent.entries.get(new_name)
        if replaced is node:
            return
        if replaced is not None:
            if isinstance(node, Directory) != isinstance(replaced, Directory):
                number = errno.ENOTDIR if isinstance(node, Directory) else errno.EISDIR
                raise OSError(number, os.strerror(number))
            _check_replaceable(replaced)
        self._change((parent, name, None), (new_parent, new_name, node))

    def find(self, parent: Directory, name: bytes) -> Node:
        node = parent.entries.get(name)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return node

    def write(self, file: File, offset: int, data: bytes) -> None:
        self._write(file, Write(offset, data, at=self._clock()))

    def truncate(self, file: File, size: int) -> None:
        self._write(file, Write(size, b"", truncates=True, at=self._clock()))

    def _write(self, file: File, write: Write) -> None:
        write.apply(file.content)
        file.pending.append(write)
        file.touch()
        self._unsynced[file] = None

    def _change(self, *edits: Edit) -> None:
        for directory, name, node in edits:
            _set(directory.entries, name, node, count=True)
            directory.touch()
        renaming = Renaming(edits)
        for directory in renaming.directories():
            directory.pending.append(renaming)
            self._unsynced[directory] = None

    def sync(self, node: Node) -> None:
        """As fsync and fdatasync: the content of a file, or the names in a directory."""
        if isinstance(node, File):
            for write in node.pending:
                write.apply(node.durable)
            node.pending.clear()
        elif isinstance(node, Directory):
            while node.pending:
                _commit(node.pending[0])
        self._unsynced.pop(node, None)

    def cut(self, rng: random.Random, survivors: Survivors) -> CutReport:
        """Drops unsynced changes. Processes then see the content of the disk."""
        dropped_bytes = dropped_writes = survived = 0
        if self._writeback_s is not None:
            self._write_back(self._clock() - self._writeback_s)
        unsynced, self._unsynced = list(self._unsynced), {}
        for node in unsynced:
            if isinstance(node, Directory):
                survived += _commit_some(node, rng, survivors)
        for node in unsynced:
            if isinstance(node, File) and node.links:
                kept = _keep_some(node, rng, survivors)
                survived += kept
                dropped_writes += len(node.pending) - kept
                dropped_bytes += sum(len(write.data) for write in node.pending[kept:])
        dropped_names = len({id(change) for node in unsynced if isinstance(node, Directory) for change in node.pending})
        _restore(self.root)
        return CutReport(dropped_bytes, dropped_writes, dropped_names, survived)

    def _write_back(self, until: float) -> None:
        """Writes all changes of names to the disk, and content that was written before this time."""
        for node in list(self._unsynced):
            if isinstance(node, Directory):
                self.sync(node)
            elif isinstance(node, File):
                while node.pending and node.pending[0].at <= until:
                    node.pending.pop(0).apply(node.durable)


def _check_replaceable(node: Node) -> None:
    if isinstance(node, Directory) and node.entries:
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))


def _set(entries: dict[bytes, Node], name: bytes, node: Node | None, *, count: bool = False) -> None:
    before = entries.pop(name, None)
    if node is not None:
        entries[name] = node
    if count:
        for each, links in ((before, -1), (node, 1)):
            if each is not None:
                each.links += links
                each.ctime_ns = time.time_ns()


def _commit(change: Renaming) -> None:
    """Writes a change of names to the disk, and first those before it in the same directories."""
    for directory in change.directories():
        while directory.pending[0] is not change:
            _commit(directory.pending[0])
    for directory, name, node in change.edits:
        _set(directory.durable, name, node)
    for directory in change.directories():
        directory.pending.pop(0)


def _commit_some(directory: Directory, rng: random.Random, survivors: Survivors) -> int:
    before = len(directory.pending)
    if before and survivors != "none":
        left = rng.randint(0, before)
        while len(directory.pending) > left:
            _commit(directory.pending[0])
    return before - len(directory.pending)


def _keep_some(file: File, rng: random.Random, survivors: Survivors) -> int:
    """Writes some of the unsynced changes of a file to the disk; returns how many of them are there completely."""
    if survivors == "none" or not file.pending:
        return 0
    if survivors == "blocks":
        _keep_blocks(file, rng)
        return 0
    kept = rng.randint(0, len(file.pending))
    for write in file.pending[:kept]:
        write.apply(file.durable)
    for write in file.pending[kept : kept + 1]:
        torn = write.data[: rng.randrange(len(write.data))] if write.data else b""
        if torn:
            Write(write.offset, torn).apply(file.durable)
    return kept


def _keep_blocks(file: File, rng: random.Random) -> None:
    size = rng.choice((len(file.durable), len(file.content)))
    result = bytearray(size)
    for at in range(0, size, BLOCK_BYTES):
        source = file.content if rng.random() < 0.5 else file.durable
        block = source[at : min(at + BLOCK_BYTES, size)]
        result[at : at + len(block)] = block
    file.durable = result


def _restore(root: Directory) -> None:
    """Makes what is on the disk visible."""
    nodes = {root: None, **dict.fromkeys(_on_disk(root))}
    for node in nodes:
        node.links = 0
    root.links = 1
    for node in nodes:
        if isinstance(node, File):
            node.content = bytearray(node.durable)
            node.pending = []
        elif isinstance(node, Directory):
            node.entries = dict(node.durable)
            node.pending = []
            for child in node.entries.values():
                child.links += 1


def _on_disk(root: Directory) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        for node in waiting.pop().durable.values():
            yield node
            if isinstance(node, Directory):
                waiting.append(node)
