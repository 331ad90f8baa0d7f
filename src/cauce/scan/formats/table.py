"""The table of all formats. To add one, write a class derived from `Format` and list it here."""

from __future__ import annotations

from cauce.errors import CorruptRecord
from cauce.scan.files.file_bytes import COMPRESSED
from cauce.scan.formats.arrow_stream import ArrowStream
from cauce.scan.formats.csv import Csv, Tsv
from cauce.scan.formats.format import Format
from cauce.scan.formats.ndjson import Ndjson
from cauce.scan.formats.parquet import Parquet

FORMATS: list[Format] = [Csv(), Tsv(), Ndjson(), Parquet(), ArrowStream()]


def format_named(name: str) -> Format:
    """The format of a stored part."""
    for each in FORMATS:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in FORMATS)
    raise CorruptRecord(f"unknown format {name!r} of a part; this version reads {known}: use the one that wrote it")


def format_of(path: str) -> Format:
    """The format of a file, by its ending in any case."""
    formats = {ending: each for each in FORMATS for ending in file_endings(each)}
    return formats[next(each for each in sorted(formats, key=len, reverse=True) if path.lower().endswith(each))]


def format_sent_as(media_type: str) -> Format:
    """The format of an upload, which is one of `media_types`."""
    return next(each for each in FORMATS if each.media_type == media_type)


def media_types() -> list[str]:
    """Of the formats that can be uploaded."""
    return [each.media_type for each in FORMATS if each.media_type]


def file_endings(each: Format) -> list[str]:
    """All endings of its files, with those of compressed ones."""
    packed = ("", *COMPRESSED) if each.compressible else ("",)
    return [ending + compressed for ending in each.endings for compressed in packed]


def all_endings() -> list[str]:
    return [ending for each in FORMATS for ending in file_endings(each)]


def other_endings() -> list[str]:
    """The endings that a file may have instead of .csv, without those of other compressed formats; for messages."""
    first, *others = FORMATS
    return [*file_endings(first)[1:], *(ending for each in others for ending in each.endings)]


def stem_of(name: str) -> str:
    """A file's name without the ending of its format."""
    ending = max((each for each in all_endings() if name.lower().endswith(each)), key=len, default="")
    return name[: len(name) - len(ending)]
