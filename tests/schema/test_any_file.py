"""Any bytes give a schema or a clear error; a schema that has seen a whole file reads all its cells."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import numpy as np
import pytest

from cauce.errors import CauceError
from cauce.scan.reader import parts_of, read_part
from cauce.schema import DatasetSchema, TableSchema, files_of, find_tables, infer, spec_of
from tests.scan.scanning import mutated, random_body

CELLS = [
    *("1", "-7", "0", "007", "1.5", "2.25", ".5", "5.", "1e5", "-2E-3", "inf", "nan", "+3", "9" * 20),
    *("true", "F", "yes", "n", "2024-01-01", "2024-02-30", "2024-01-01 10:00", "2024-01-01T10:00:00.5Z", "10:30"),
    *("", "NA", "NULL", "\\N", "text", "ñ", "a b", "'q'", "it's", "€" * 10),
]


def rejected_cells(folder: Path, schema: TableSchema) -> list[tuple[object, ...]]:
    spec = spec_of(schema)
    every = frozenset(spec.columns)
    found: list[tuple[object, ...]] = []
    for part in parts_of(files_of(schema, folder), spec, 50):
        block = read_part(part, spec, every, lambda size: np.empty(size, np.uint8))
        found += [row for row in block.rejects(every).rows() if row[2] is not None]
    return found


def schema_or_error(folder: Path) -> TableSchema | str:
    try:
        (table,) = find_tables(folder)
        return infer(table).schema
    except CauceError as problem:
        return str(problem)


def generated(rng: random.Random) -> bytes:
    delimiter = rng.choice(",;\t|")
    pools = [rng.sample(CELLS, rng.randint(1, 4)) for _ in range(rng.randint(1, 5))]
    rows = [[rng.choice(pool) for pool in pools] for _ in range(rng.randint(1, 30))]
    header = [[f"c{n}" for n in range(len(pools))]] if rng.random() < 0.7 else []
    return "\n".join(delimiter.join(row) for row in header + rows).encode() + rng.choice([b"", b"\n"])


@pytest.mark.parametrize("seed", [*range(50), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(50, 150))])
def test_a_schema_reads_every_cell_that_it_has_seen(seed: int) -> None:
    rng = random.Random(seed)
    data = generated(rng)
    if seed % 3 == 0:
        data = mutated(rng, data)
    if seed % 5 == 0:
        data = b"a,b\n" + random_body(rng, 100)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.csv").write_bytes(data)
        schema = schema_or_error(Path(folder))
        if isinstance(schema, str):
            assert "t.csv" in schema or "table t" in schema
            return
        assert DatasetSchema.from_toml(DatasetSchema((schema,)).to_toml()).tables == (schema,)
        assert rejected_cells(Path(folder), schema) == []


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".ndjson", ".parquet", ".csv.gz", ".ndjson.zst"])
@pytest.mark.parametrize("seed", range(15))
def test_arbitrary_bytes_are_read_or_refused_by_name(seed: int, ending: str) -> None:
    rng = random.Random(seed)
    data = rng.randbytes(rng.randrange(1, 300)) if seed % 2 else bytes(rng.choices(b"{}[],:\"\n 0x\\'", k=100))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"t{ending}").write_bytes(data)
        found = schema_or_error(Path(folder))
        assert not isinstance(found, str) or f"t{ending}" in found or "table t" in found
