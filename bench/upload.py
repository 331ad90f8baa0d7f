"""Compares an upload of CSV to a gateway on loopback with a copy of the same bytes over a socket to a process that
writes them to disk. Prints the ratio over several rounds.

    python -m bench.upload --bytes 1G
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.server_process import serving
from cauce.client import Service
from cauce.client.settings import COMPRESS, Settings
from cauce.errors import CauceError
from cauce.lab.generators import generate

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
BLOCK_BYTES = 2**20
SEED_SCALE = 0.01
TABLE_FILES = "transactions/transactions_*.csv"

# Writes all bytes of a connection to a file, syncs it if the first byte is `s`, and acknowledges with a dot.
RECEIVER = """
import os, socket, sys
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
block = memoryview(bytearray(int(sys.argv[2])))
for _ in range(int(sys.argv[3])):
    peer, _ = listening.accept()
    sync = peer.recv(1) == b"s"
    with open(sys.argv[1], "wb", buffering=0) as file:
        while count := peer.recv_into(block):
            done = 0
            while done < count:
                done += file.write(block[done:count])
        if sync:
            os.fdatasync(file.fileno())
    peer.sendall(b".")
    peer.close()
    os.unlink(sys.argv[1])
"""


def amount(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)B?", text.strip().upper())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes; write it as 200M or 1G")
    return int(float(found[1]) * UNITS[found[2]])


def write_data(folder: Path, size: int) -> Path:
    """Writes generated transactions of a coffee chain, repeated up to the size."""
    generate("coffee", folder / "seed", scale=SEED_SCALE, seed=1, only=["transactions"])
    files = sorted((folder / "seed").glob(TABLE_FILES))
    header = files[0].read_bytes().partition(b"\n")[0] + b"\n"
    rows = b"".join(file.read_bytes().partition(b"\n")[2] for file in files)
    shutil.rmtree(folder / "seed")
    path = folder / "data" / "transactions_202407.csv"
    path.parent.mkdir()
    with path.open("wb") as out:
        out.write(header)
        while (missing := size - out.tell()) > 0:
            end = len(rows) if missing >= len(rows) else rows.rfind(b"\n", 0, missing) + 1 or len(rows)
            out.write(rows[:end])
            if end < len(rows):
                break
    return path


@contextmanager
def receiver(folder: Path, rounds: int) -> Iterator[int]:
    command = [sys.executable, "-c", RECEIVER, str(folder / "copied"), str(BLOCK_BYTES), str(rounds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def copy(path: Path, port: int, sync: bool) -> float:
    """Seconds until the receiver has acknowledged all bytes."""
    block = memoryview(bytearray(BLOCK_BYTES))
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", port)) as out, path.open("rb", buffering=0) as file:
        out.sendall(b"s" if sync else b"-")
        while count := file.readinto(block):
            out.sendall(block[:count])
        out.shutdown(socket.SHUT_WR)
        assert out.recv(1) == b"."
    return time.monotonic() - started


def upload(path: Path, url: str, settings: Settings) -> float:
    """Seconds until every part is acknowledged and the table is complete."""
    with Service(url) as service:
        started = time.monotonic()
        job = service.submit("coffee", path.parent, ["q1"], wait=False, settings=settings)
        seconds = time.monotonic() - started
        job.cancel()
    return seconds


def measure(methods: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Runs every method once per round, so that noise affects all of them. The first round is a warm-up."""
    taken: dict[str, list[float]] = {name: [] for name in methods}
    for number in range(rounds + 1):
        for name, method in methods.items():
            # Pending writes of one method must not slow down the next.
            os.sync()
            seconds = method()
            if number:
                taken[name].append(seconds)
    return taken


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.upload", description=__doc__)
    parser.add_argument("--bytes", type=amount, default=amount("1G"), help="bytes to send (default: 1G)")
    parser.add_argument("--rounds", type=int, default=3, help="number of timed rounds (default: 3)")
    parser.add_argument("--compress", choices=COMPRESS, default="auto", help="as in cauce submit (default: auto)")
    parser.add_argument(
        "--part-bytes", type=amount, default=Settings().part_bytes, help="of a part (default: by the size of the file)"
    )
    parser.add_argument("--connections", type=int, default=Settings().connections, help="default: 4")
    parser.add_argument("--dir", type=Path, default=Path(".cache"), help="a folder on the disk to measure")
    given = parser.parse_args(arguments)
    given.dir.mkdir(parents=True, exist_ok=True)
    settings = Settings(given.compress, given.part_bytes, connections=given.connections)
    with tempfile.TemporaryDirectory(prefix="upload-", dir=given.dir) as scratch:
        folder = Path(scratch)
        path = write_data(folder, given.bytes)
        with (
            serving("gateway", folder / "service") as gateway,
            receiver(folder, 2 * (given.rounds + 1)) as port,
        ):
            methods: dict[str, Callable[[], float]] = {
                "upload": lambda: upload(path, gateway.url, settings),
                "copy, fdatasync": lambda: copy(path, port, sync=True),
                "copy": lambda: copy(path, port, sync=False),
            }
            report(path.stat().st_size, measure(methods, given.rounds))
    return 0


def report(size: int, taken: dict[str, list[float]]) -> None:
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    sys.stdout.write(f"{size / 1e9:.2f} GB of CSV over loopback, median of {len(taken['upload'])} rounds\n")
    for name, median in medians.items():
        every = " ".join(f"{seconds:.2f}" for seconds in taken[name])
        sys.stdout.write(f"{name:<16} {median:7.2f} s  {size / median / 1e6:7.0f} MB/s  ({every})\n")
    for name in ("copy, fdatasync", "copy"):
        sys.stdout.write(f"upload takes {medians['upload'] / medians[name]:.2f} times as long as: {name}\n")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except CauceError as problem:
        sys.exit(f"error [{problem.code}] {problem}")
