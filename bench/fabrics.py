"""Compares fabrics: write and read throughput, and latency of small appends.

    python -m bench.fabrics [--bytes 200M] [--rounds 3] [--versions 3.10,4.0,4.3]
    python -m bench.fabrics --libraries        installed client libraries of RabbitMQ instead

The broker is a private node on this machine, one of each version. Fabrics alternate within a round, so that noise
affects all of them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.amqp_clients import LIBRARIES, Library
from bench.upload import amount
from cauce.fabric.address import parse
from cauce.fabric.contract import START, Fabric, Position
from cauce.fabric.factory import open_fabric
from cauce.fabric.names import Log
from cauce.fabric.records import Kind, Record, record
from cauce.lab.broker.nodes import start

RECORD_BYTES = 1 << 20
SMALL_BYTES = 200
SMALL_APPENDS = 300
LOGS = 8

Figures = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=amount, default=amount("200M"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--libraries", action="store_true")
    parser.add_argument("--versions", default="", help="of RabbitMQ, separated by commas (default: the best one here)")
    arguments = parser.parse_args()
    versions = arguments.versions.split(",")
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        brokers = {
            f"rabbitmq {version}".strip(): stack.enter_context(
                private_broker(Path(scratch, f"nodes{version}"), version)
            )
            for version in versions
        }
        measure: dict[str, Callable[[], Figures]]
        if arguments.libraries:
            address = next(iter(brokers.values()))
            measure = {name: library_measure(made, address, arguments.bytes) for name, made in LIBRARIES.items()}
        else:
            addresses = {"files": str(Path(scratch, "files")), **brokers}
            measure = {name: fabric_measure(each, arguments.bytes) for name, each in addresses.items()}
        rounds: dict[str, list[Figures]] = {name: [] for name in measure}
        for _ in range(arguments.rounds):
            for name, once in measure.items():
                rounds[name].append(once())
    sys.stdout.write(table({name: medians(each) for name, each in rounds.items()}))


@contextmanager
def private_broker(folder: Path, version: str = "") -> Iterator[str]:
    nodes = start(folder, 1, version=version or None)
    try:
        yield nodes.address
    finally:
        nodes.stop(gently=False)


def library_measure(library: Library, address: str, size: int) -> Callable[[], Figures]:
    broker = parse(address)

    def once() -> Figures:
        name = f"bench-{time.time_ns()}"
        count = size // RECORD_BYTES
        began, published, consumed = library(broker, name, count, bytes(RECORD_BYTES))
        return {
            "publish MB/s": size / (published[0] - began[0]) / 1e6,
            "publish, s of CPU a GB": (published[1] - began[1]) / size * 1e9,
            "consume MB/s": size / (consumed[0] - published[0]) / 1e6,
            "consume, s of CPU a GB": (consumed[1] - published[1]) / size * 1e9,
        }

    return once


def fabric_measure(address: str, size: int) -> Callable[[], Figures]:
    def once() -> Figures:
        writer, reader = open_fabric(address), open_fabric(address)
        writer.create_job("bench", b"")
        figures = {**bulk(writer, reader, size), **small(writer, reader)}
        writer.delete_job("bench")
        writer.close()
        reader.close()
        return figures

    return once


def bulk(writer: Fabric, reader: Fabric, size: int) -> Figures:
    records = [record(Kind.DATA, 0, seq, bytes(RECORD_BYTES)) for seq in range(size // RECORD_BYTES)]
    began = time.perf_counter()
    for first in range(0, len(records), LOGS):
        writer.append_all("bench", [(Log("bulk"), [each]) for each in records[first : first + LOGS]])
    written = time.perf_counter()
    reader.read_barrier("bench", Log("bulk"))
    drained = sum(len(each.body) for each in drain(reader, Log("bulk")))
    read = time.perf_counter()
    assert drained == len(records) * RECORD_BYTES
    return {"write MB/s": drained / (written - began) / 1e6, "read MB/s": drained / (read - written) / 1e6}


def small(writer: Fabric, reader: Fabric) -> Figures:
    body = bytes(SMALL_BYTES)
    alone, together, delivered = [], [], []
    for seq in range(SMALL_APPENDS):
        appended = [record(Kind.DATA, 0, seq, body)]
        alone.append(timed(lambda appended=appended: writer.append("bench", Log("small", "alone"), appended)))  # type: ignore[misc]
        appends = [(Log(f"together{log % 4}", str(log)), appended) for log in range(LOGS)]
        together.append(timed(lambda appends=appends: writer.append_all("bench", appends)))  # type: ignore[misc]
    position: Position = START
    for seq in range(SMALL_APPENDS):
        writer.append("bench", Log("delivered"), [record(Kind.DATA, 0, seq, body)])
        began = time.perf_counter()
        while (batch := reader.read("bench", Log("delivered"), position, RECORD_BYTES)).position == position:
            time.sleep(0.0001)
        position = batch.position
        delivered.append(time.perf_counter() - began)
    return {
        "append ms": 1e3 * statistics.median(alone),
        "append p99 ms": 1e3 * sorted(alone)[len(alone) * 99 // 100],
        f"append to {LOGS} logs ms": 1e3 * statistics.median(together),
        "append to read ms": 1e3 * statistics.median(delivered),
    }


def drain(fabric: Fabric, log: Log) -> Iterator[Record]:
    position: Position = START
    while (batch := fabric.read("bench", log, position, 8 * RECORD_BYTES)).position != position:
        yield from batch.records
        position = batch.position


def timed(step: Callable[[], None]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def medians(rounds: list[Figures]) -> Figures:
    return {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}


def table(figures: dict[str, Figures]) -> str:
    """A line for each measure. All columns but the first also show the ratio to the first."""
    first, *others = figures
    lines = ["".join(f"{name:>24}" for name in ("", first, *others))]
    for figure, base in figures[first].items():
        cells = [
            f"{base:.2f}",
            *(f"{figures[other][figure]:.2f} (×{figures[other][figure] / base:.2f})" for other in others),
        ]
        lines.append("".join(f"{cell:>24}" for cell in (figure, *cells)))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
