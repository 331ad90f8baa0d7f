"""The encoding of records; golden records must stay readable."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest

from cauce.errors import CorruptRecord, OtherVersion
from cauce.fabric.records import CLIENT, Kind, load, record
from cauce.job.frames import dump_frame, frame_digest, load_frame

GOLDEN = {
    "01010000070000000500000000000000a7b6eda801e5347d68656c6c6f": record(Kind.DATA, 7, 5, b"hello"),
    "01020000ffffffff0c00000000000000e4a6a0577479b2b4": record(Kind.END, CLIENT, 12),
}


def test_a_record_comes_back_as_it_was() -> None:
    written = record(Kind.SNAPSHOT, 3, 2**40, b"\x00state")
    assert load(written.dump(), "here") == written


def test_golden_records_are_read() -> None:
    for golden, wanted in GOLDEN.items():
        assert load(bytes.fromhex(golden), "golden") == wanted


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with pytest.raises(CorruptRecord, match="here: unknown record kind 77"):
        load(b"\x01\x4d" + record(Kind.DATA, 1, 1).dump()[2:], "here")


def test_too_few_bytes_are_refused() -> None:
    with pytest.raises(CorruptRecord, match="too few"):
        load(b"\x01\x01", "here")


def test_another_version_is_refused() -> None:
    with pytest.raises(OtherVersion, match="a record in here was written by a newer version of Cauce"):
        load(b"\x09" + record(Kind.DATA, 1, 1).dump()[1:], "here")


def test_equal_frames_have_equal_digests_however_they_were_made() -> None:
    whole = pl.DataFrame({"t": ["a", None, "long enough not to be inlined", "b"], "n": [1, 2, None, 4]})
    pieces = pl.concat([whole.head(1), whole.slice(1, 2), whole.tail(1)])
    filtered = pl.concat([whole, whole]).filter(pl.Series([True] * 4 + [False] * 4))
    assert frame_digest(whole) == frame_digest(pieces) == frame_digest(filtered)


def test_frames_that_differ_in_a_value_an_order_a_name_or_a_type_have_other_digests() -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    others = [
        frame.with_columns(b=pl.Series(["x", ""])),
        frame.reverse(),
        frame.rename({"a": "c"}),
        frame.with_columns(pl.col("a").cast(pl.Int32)),
        frame.head(1),
        frame.clear(),
    ]
    assert len({frame_digest(each) for each in [frame, *others]}) == len(others) + 1


def test_the_digest_of_a_frame_is_the_same_in_every_process() -> None:
    code = (
        "import polars as pl; from cauce.job.frames import frame_digest; "
        "print(frame_digest(pl.DataFrame({'a': [1, None], 'l': [['x', None], []]})))"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(outcome.stdout) == frame_digest(pl.DataFrame({"a": [1, None], "l": [["x", None], []]}))


def test_frames_of_every_type_come_back() -> None:
    frame = pl.DataFrame(
        {"d": [1, None], "l": [["a"], []], "b": [b"x", None]},
        schema={"d": pl.Decimal(38, 18), "l": pl.List(pl.String), "b": pl.Binary},
    )
    assert load_frame(dump_frame(frame)).equals(frame)
