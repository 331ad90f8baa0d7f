"""Finds the tables of a data folder: a file is a table, and so is a sub-directory with files."""

from __future__ import annotations

import glob
import os
import shlex
from pathlib import Path

import msgspec

from cauce.errors import DataNotFound
from cauce.scan.discovery import check_folder
from cauce.scan.formats.table import all_endings, stem_of
from cauce.scan.parts import TableFile

_HIDDEN = (".", "_")
_SHOWN_NAMES = 8


class FoundTable(msgspec.Struct, frozen=True):
    """A table that is not declared: its name, its path as in a `TableSchema`, and its files in name order. `problem`
    says why it cannot be read; it matters only to statements that name the table."""

    name: str
    path: str
    files: tuple[TableFile, ...]
    problem: str = ""

    def check(self) -> None:
        if self.problem:
            raise DataNotFound(self.problem)


def find_tables(folder: Path) -> tuple[FoundTable, ...]:
    """All tables of a folder, by name, also those with a problem. Hidden files, and files of other formats, are
    ignored."""
    itself = f"it, or ask for the file itself: SELECT … FROM '{folder}'"
    check_folder(folder, itself if folder.is_file() else "the files")
    found: dict[str, FoundTable] = {}
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        table = _table_at(folder, path)
        if table is None:
            continue
        other = found.setdefault(table.name.lower(), table)
        if other is not table:
            twice = f"{other.path} and {table.path} in {folder} are both table {table.name}: "
            found[table.name.lower()] = msgspec.structs.replace(
                other, problem=f"{twice}rename or remove one of them, or name the file, as in FROM '{other.path}'"
            )
    if not found:
        raise DataNotFound(
            f"{folder} holds no file that can be read ({_shown(folder)}); put files there that end in "
            f"{', '.join(all_endings())}, or name the directory that holds them"
        )
    return tuple(found.values())


def unread_files(folder: Path) -> list[str]:
    """The files of a folder that `find_tables` ignores because of their ending, by name."""
    files = (path for path in folder.iterdir() if path.is_file() and not path.name.startswith(_HIDDEN))
    return sorted(path.name for path in files if not _is_readable(path))


def find_table(folder: Path, pattern: str) -> FoundTable:
    """The table of a path or pattern, below the folder unless it is absolute."""
    files = files_at(folder, pattern)
    return FoundTable(_pattern_name(pattern), pattern, tuple(files))


def files_at(folder: Path, pattern: str) -> list[TableFile]:
    """The files of a table's path: a file, a directory with a slash at its end, or a pattern. At least one."""
    if pattern.endswith("/"):
        found = _readable(folder / pattern)
    elif (folder / pattern).is_file():
        found = [folder / pattern]
    else:
        found = [folder / each for each in glob.glob(pattern, root_dir=folder, recursive=True)]
        found = [path for path in found if path.is_file() and _is_readable(path)]
    if not found:
        raise DataNotFound(
            f"{pattern} matches no file in {folder} that can be read ({_shown(folder)}); "
            f"name a file that ends in {', '.join(all_endings())}, a directory/, or a pattern"
        )
    files = [_file(folder, path) for path in sorted(found, key=lambda each: (each.name, str(each)))]
    FoundTable("", pattern, tuple(files), _problem(files)).check()
    return files


def _table_at(folder: Path, path: Path) -> FoundTable | None:
    if path.name.startswith(_HIDDEN):
        return None
    if path.is_dir():
        files = [_file(folder, each) for each in _readable(path)]
        return FoundTable(path.name, f"{path.name}/", tuple(files), _problem(files)) if files else None
    if not path.is_file() or not _is_readable(path):
        return None
    file = _file(folder, path)
    return FoundTable(stem_of(path.name), path.name, (file,), _problem([file]))


def _readable(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_file() and _is_readable(path))


def _is_readable(path: Path) -> bool:
    name = path.name
    return not name.startswith(_HIDDEN) and name.lower().endswith(tuple(all_endings())) and bool(stem_of(name))


def _file(folder: Path, path: Path) -> TableFile:
    name = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
    return TableFile(name, str(path), path.stat().st_size)


def _problem(files: list[TableFile]) -> str:
    """Why files cannot be a table: one is empty or not readable, or has the same rows as another one."""
    by_stem: dict[str, TableFile] = {}
    for file in files:
        if file.bytes == 0:
            return f"{file.path} is empty; remove it, or write its rows"
        if not os.access(file.path, os.R_OK):
            return f"no permission to read {file.path}; run `chmod u+r {shlex.quote(file.path)}`"
        other = by_stem.setdefault(stem_of(file.name), file)
        if other is not file:
            return f"{other.path} and {file.path} are the same file twice: keep one of them"
    return ""


def _pattern_name(pattern: str) -> str:
    """The name of a table that a query names by its path: the path without its endings and wildcards."""
    for step in reversed(pattern.split("/")):
        plain = stem_of(step).translate(str.maketrans("", "", "*?[]")).strip("_-. ")
        if plain:
            return plain
    return "files"


def _shown(folder: Path) -> str:
    found = folder.iterdir() if folder.is_dir() else ()
    names = sorted(each.name for each in found if not each.name.startswith(_HIDDEN))
    return "it holds " + (", ".join(names[:_SHOWN_NAMES]) or "nothing") + (", …" if len(names) > _SHOWN_NAMES else "")
