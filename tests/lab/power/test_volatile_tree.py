"""The model of a disk: changes survive a power cut from the moment they are synced, and no others do for sure."""

from __future__ import annotations

import random
import stat

import pytest

from cauce.lab.power.volatile_tree import BLOCK_BYTES, Directory, File, Survivors, VolatileTree

FILE, FOLDER = stat.S_IFREG | 0o600, stat.S_IFDIR | 0o700
OWNER = (0, 0)


class Disk:
    def __init__(self, writeback_s: float | None = None) -> None:
        self.now = 0.0
        self.tree = VolatileTree(writeback_s, lambda: self.now)
        self.root = self.tree.root

    def file(self, name: bytes, content: bytes = b"", parent: Directory | None = None) -> File:
        made = self.tree.create(parent or self.root, name, FILE, OWNER)
        assert isinstance(made, File)
        self.tree.write(made, 0, content)
        return made

    def folder(self, name: bytes) -> Directory:
        made = self.tree.create(self.root, name, FOLDER, OWNER)
        assert isinstance(made, Directory)
        return made

    def sync(self, *nodes: File | Directory) -> None:
        for node in nodes:
            self.tree.sync(node)

    def cut(self, seed: int = 0, survivors: Survivors = "none") -> dict[bytes, object]:
        """What is left, folders as dictionaries."""
        self.report = self.tree.cut(random.Random(seed), survivors)
        return shown(self.root)


def shown(folder: Directory) -> dict[bytes, object]:
    return {
        name: bytes(node.content) if isinstance(node, File) else shown(node) if isinstance(node, Directory) else None
        for name, node in folder.entries.items()
    }


def test_a_file_needs_a_sync_of_its_content_and_of_its_name() -> None:
    disk = Disk()
    disk.sync(disk.file(b"no name", b"1"))
    disk.file(b"no content", b"2")
    assert disk.cut() == {}
    assert (disk.report.dropped_bytes, disk.report.dropped_writes, disk.report.dropped_names) == (1, 1, 2)
    disk.file(b"no content", b"2")
    disk.sync(disk.file(b"both", b"3"), disk.root)
    assert disk.cut() == {b"no content": b"", b"both": b"3"}


def test_content_returns_to_the_last_sync() -> None:
    disk = Disk()
    file = disk.file(b"f", b"first")
    disk.sync(file, disk.root)
    disk.tree.write(file, 3, b"...")
    disk.tree.truncate(file, 1)
    assert disk.cut() == {b"f": b"first"}


def test_a_removed_file_comes_back() -> None:
    disk = Disk()
    disk.sync(disk.file(b"f", b"x"), disk.root)
    disk.tree.remove(disk.root, b"f", directory=False)
    assert disk.cut() == {b"f": b"x"}
    disk.tree.remove(disk.root, b"f", directory=False)
    disk.sync(disk.root)
    assert disk.cut() == {}


def test_a_folder_is_lost_with_all_that_was_synced_in_it() -> None:
    disk = Disk()
    folder = disk.folder(b"d")
    disk.sync(disk.file(b"f", b"x", folder), folder)
    assert disk.cut() == {}


@pytest.mark.parametrize("synced", ["source", "target"])
def test_a_rename_between_folders_is_one_change(synced: str) -> None:
    disk = Disk()
    source, target = disk.folder(b"s"), disk.folder(b"t")
    file = disk.file(b"f", b"x", source)
    disk.sync(file, disk.root)
    disk.tree.rename(source, b"f", target, b"g")
    disk.sync({"source": source, "target": target}[synced])
    assert disk.cut() == {b"s": {}, b"t": {b"g": b"x"}}


def test_an_unsynced_rename_is_undone() -> None:
    disk = Disk()
    disk.sync(disk.file(b"new", b"new"), disk.file(b"old", b"old"), disk.root)
    disk.tree.rename(disk.root, b"new", disk.root, b"old")
    assert shown(disk.root) == {b"old": b"new"}
    assert disk.cut() == {b"new": b"new", b"old": b"old"}


def test_links_are_counted_again_after_a_cut() -> None:
    disk = Disk()
    file = disk.file(b"f", b"x")
    disk.sync(file, disk.root)
    disk.tree.link(file, disk.root, b"g")
    assert file.links == 2
    disk.tree.remove(disk.root, b"f", directory=False)
    disk.tree.remove(disk.root, b"g", directory=False)
    assert file.links == 0
    disk.cut()
    assert file.links == 1


def test_in_order_a_prefix_of_the_unsynced_writes_survives() -> None:
    found = set()
    for seed in range(200):
        disk = Disk()
        file = disk.file(b"f", b"synced")
        disk.sync(file, disk.root)
        disk.tree.write(file, 6, b"ABC")
        disk.tree.write(file, 9, b"DE")
        found.add(disk.cut(seed, "ordered")[b"f"])
    assert found == {b"synced" + b"ABCDE"[:length] for length in range(6)}


def test_in_order_a_prefix_of_the_unsynced_names_survives() -> None:
    found = set()
    for seed in range(100):
        disk = Disk()
        for name in (b"a", b"b", b"c"):
            disk.file(name)
        found.add(tuple(disk.cut(seed, "ordered")))
    assert found == {(), (b"a",), (b"a", b"b"), (b"a", b"b", b"c")}


def test_blocks_survive_in_any_order_and_never_synced_ones_are_lost() -> None:
    blocks = set()
    for seed in range(100):
        disk = Disk()
        file = disk.file(b"f", b"s" * BLOCK_BYTES)
        disk.sync(file, disk.root)
        disk.tree.write(file, BLOCK_BYTES, b"a" * BLOCK_BYTES + b"b" * BLOCK_BYTES)
        content = disk.cut(seed, "blocks")[b"f"]
        assert isinstance(content, bytes)
        assert content[:BLOCK_BYTES] == b"s" * BLOCK_BYTES
        blocks.add(bytes(content[at] for at in range(BLOCK_BYTES, len(content), BLOCK_BYTES)))
    assert blocks == {b"", b"ab", b"\0b", b"a\0", b"\0\0"}


def test_a_lenient_disk_keeps_names_and_old_content() -> None:
    disk = Disk(writeback_s=30.0)
    old = disk.file(b"old", b"first")
    disk.now = 20.0
    disk.tree.write(old, 5, b" and new")
    disk.file(b"young", b"lost")
    disk.now = 31.0
    assert disk.cut() == {b"old": b"first", b"young": b""}
