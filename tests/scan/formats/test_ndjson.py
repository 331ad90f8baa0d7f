"""NDJSON files: cut at line ends, rejects by line, columns from the first objects."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from cauce.errors import JobFailed, WrongColumns
from cauce.scan.cells.kinds import Integer, Json, Kind, Text, TextList
from cauce.scan.csv.guess import LineCounts
from cauce.scan.discovery import find_files
from cauce.scan.parts import Part, TableFile
from cauce.scan.reader import check_columns, cuts_hold, parts_of, read_part
from cauce.scan.tables import Column, TableSpec

SPEC = TableSpec("t", ("t.csv",), {"id": Column("id", Integer()), "text": Column("text", Text())})
ALL = frozenset(SPEC.columns)


def lines(seed: int, count: int = 60) -> list[str]:
    rng = random.Random(seed)
    texts = ["a", "ñ", "x" * 300, 'q"', "two\nlines", ""]
    rows = [json.dumps({"id": n, "text": rng.choice(texts)}, ensure_ascii=False) for n in range(count)]
    return [rng.choice([row, row, row, row + " ", "", "[1]", "{broken", row + "\r"]) for row in rows]


def expected(text: str) -> tuple[list[tuple[int, str | None]], list[int]]:
    rows, rejected = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            rejected.append(number)
        else:
            rows.append((found["id"], found["text"] or None))
    return rows, rejected


def write(folder: Path, text: str, ending: str) -> None:
    path = folder / f"t{ending}"
    if ending.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    elif ending.endswith(".zst"):
        with pa.CompressedOutputStream(str(path), "zstd") as out:
            out.write(text.encode())
    else:
        path.write_bytes(text.encode())


@pytest.mark.parametrize("guess", [False, True])
@pytest.mark.parametrize("part_bytes", [1, 100, 1000, 2**20])
@pytest.mark.parametrize("ending", [".ndjson", ".ndjson.gz", ".ndjson.zst", ".jsonl", ".jsonl.gz"])
def test_any_cut_gives_the_same_rows_and_lines(tmp_path: Path, ending: str, part_bytes: int, guess: bool) -> None:
    text = "\n".join(lines(part_bytes))
    write(tmp_path, text, ending)
    files = find_files(tmp_path, SPEC)
    rows, rejected, counts = [], [], LineCounts()
    for part in parts_of(files, SPEC, part_bytes, guess):
        block = read_part(part, SPEC, ALL, lambda size: np.empty(size, np.uint8))
        rows += list(zip(block.column("id", None), block.column("text", None), strict=True))
        before = counts.before(part.file.path, part.start) + 1 if part.guessed else 0
        rejected += [line + before for line in block.rejects(ALL)["line"]]
    assert (rows, rejected) == expected(text)
    assert cuts_hold(files, SPEC, part_bytes)


def test_a_plain_file_is_cut_without_being_read(tmp_path: Path) -> None:
    write(tmp_path, "\n".join(lines(3)), ".ndjson")
    parts = list(parts_of(find_files(tmp_path, SPEC), SPEC, 100, guess=True))
    assert len(parts) > 3
    assert all(part.guessed and part.data is None for part in parts)
    assert sum(part.weight for part in parts) == (tmp_path / "t.ndjson").stat().st_size


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    write(tmp_path, '\ufeff{"id": 1}\n', ".ndjson")
    (file,) = find_files(tmp_path, TableSpec("t", ("t.csv",), {"id": SPEC.columns["id"]}))
    (part,) = parts_of([file], SPEC)
    block = read_part(part, SPEC, frozenset(["id"]), lambda size: np.empty(size, np.uint8))
    assert block.column("id", None).to_list() == [1]


def test_a_key_that_no_first_object_has_is_reported(tmp_path: Path) -> None:
    write(tmp_path, '{"id": 1}\n{"Text": 2}\n', ".ndjson")
    with pytest.raises(WrongColumns, match=r"t\.ndjson lacks text; its header has id, Text; .*did you mean Text\?"):
        check_columns(find_files(tmp_path, SPEC)[0], SPEC, ALL)


def test_a_key_may_be_missing_from_some_objects(tmp_path: Path) -> None:
    write(tmp_path, '{"id": 1}\n{"text": "a"}\n', ".ndjson")
    (file,) = find_files(tmp_path, SPEC)
    check_columns(file, SPEC, ALL)
    (part,) = parts_of([file], SPEC)
    block = read_part(part, SPEC, ALL, lambda size: np.empty(size, np.uint8))
    frame = pl.DataFrame([block.column(name, None).alias(name) for name in ("id", "text")])
    assert frame.rows() == [(1, None), (None, "a")]


def test_a_file_that_grows_while_it_is_cut_fails_by_name(tmp_path: Path) -> None:
    write(tmp_path, "{}\n", ".ndjson")
    files = find_files(tmp_path, SPEC)
    (tmp_path / "t.ndjson").write_bytes(b"{}\n{}\n")
    with pytest.raises(JobFailed, match=r"t\.ndjson changed while it was read"):
        list(parts_of(files, SPEC))


VALUES = [
    *(
        "1",
        "-2.50",
        "1e5",
        "true",
        "null",
        '""',
        '"a"',
        '"null"',
        '"q\\"\\u00e9\\n"',
        '"[1]"',
        '"\\\\"',
        '"ñ"',
        '" "',
        '"NaN"',
    ),
    *("[1, 2]", "[]", '["a"]', '{"x": [1, "y"]}'),
]


@pytest.mark.parametrize("kind", [Text(), Integer(), Json(), TextList()])
@pytest.mark.parametrize("seed", range(10))
def test_a_bad_line_does_not_change_how_others_are_read(monkeypatch: pytest.MonkeyPatch, kind: Kind, seed: int) -> None:
    """All lines of a batch are decoded together if they can be, and otherwise one by one."""
    monkeypatch.setattr("cauce.scan.formats.ndjson._BATCH_ROWS", 7)
    rng = random.Random(seed)
    spec = TableSpec("t", (), {"v": Column("v", kind), "w": Column("w", kind)})
    rows = [f'{{"other": [1, {{}}], "v": {rng.choice(VALUES)}, "w":{rng.choice(VALUES)} }}' for _ in range(50)]
    rows += ["{}", '{"w": 1}', '{"v": 1, "v": 2}', '{"\\u0076": 3}']
    found = []
    for text in ("\n".join(rows), "\n".join([*rows, "broken"])):
        data = text.encode()
        part = Part(0, TableFile("t", "", len(data)), (), 1, 0, len(data), data, form="ndjson")
        block = read_part(part, spec, frozenset(["v", "w"]), lambda size: np.empty(size, np.uint8))
        cells = [block.column(name, None).to_list() for name in ("v", "w")]
        found.append((cells, [row for row in block.rejects(frozenset(["v", "w"])).rows() if row[2] is not None]))
    assert found[0] == found[1]
    assert len(found[0][0][0]) == len(rows)
