"""Sending a large file takes no more memory than its window."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.fake import Fake

FILE_MB = 400
ALLOWED_MB = 120
"""Parts of 4 MiB, one for each connection and the cutter's window, and what Python takes on the way."""

CODE = """
import resource, sys
import cauce
from cauce.client.settings import Settings

def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

with cauce.connect(sys.argv[1]) as service:
    service.submit("coffee", sys.argv[2], ["q1"], job="small", wait=False, settings=Settings(sys.argv[4]))
    before = peak_mb()
    service.submit("coffee", sys.argv[3], ["q1"], job="large", wait=False, settings=Settings(sys.argv[4]))
    print(peak_mb() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("compress", ["none", "zstd"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, compress: str) -> None:
    header = b"transaction_id,store_id,user_id,final_amount,created_at\n"
    row = b"3f1a0a84-5c1c-4a0c-9d5e-2f6b7c8d9e0f,6,1234.0,30.0,2024-07-01 07:00:00\n"
    block = row * 10_000
    for name, blocks in {"small": 1, "large": FILE_MB * 10**6 // len(block)}.items():
        (tmp_path / name).mkdir()
        with (tmp_path / name / "transactions_202407.csv").open("wb") as file:
            file.write(header)
            for _ in range(blocks):
                file.write(block)
    with Fake() as fake:
        fake.keep_bodies = False
        arguments = [fake.url, str(tmp_path / "small"), str(tmp_path / "large"), compress]
        done = subprocess.run([sys.executable, "-c", CODE, *arguments], capture_output=True, check=True, timeout=300)
        assert fake.jobs["large"].tables["transactions"].complete
    assert float(done.stdout) < ALLOWED_MB
