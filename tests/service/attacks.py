"""Attacks of one tenant on a running service. Each runs in a thread of its own until the event is set, and counts the
faults that it has caused, so that a test can prove that they happened."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from tests.service.running import Reply, Running

LETHAL_JOBS = JOIN_JOBS = 6
OPEN_JOBS = 90
"""Below the limit of open jobs of one owner, which the other attacks need too."""
JOIN_ROWS = 10_000
GATHERED_PARTS, GATHERED_ROWS = 4, 150_000
"""So many parts, of so many rows each, that a partition merges partials before all of them are there."""
TEXT_BYTES = 4 << 20
SLOW_SOCKETS = 8
IDLE_STREAMS = 600
FIRST = "/v1/jobs/hostile-1"
"""A job that is never completed."""
TRANSACTIONS = b"transaction_id,store_id,user_id,final_amount,created_at\nt,1,1,1.0,2024-01-01 08:00:00\n"
OVER = ("done", "failed", "cancelled", "expired", "damaged")

LETHAL = '''
import os
import signal
from pathlib import Path
from traceback import walk_stack

import polars as pl

from cauce.operators.aggregates import Batch, Max
from cauce.plan import INTEGER, TEXT, Dataset, Relation, Table, Text, agg

notes = Table("notes", "notes.csv", {"name": Text()})
dataset = Dataset("lethal", (notes,), source=Path(__file__))


def die(names: pl.Series) -> pl.Series:
    os.kill(os.getpid(), signal.SIGKILL)
    return names


@dataset.query(name=TEXT, notes=INTEGER)
def q1() -> Relation:
    """Kills its worker, as the kernel does when memory runs out"""
    dead = pl.col("name").map_batches(die, return_dtype=pl.String)
    return notes.with_columns(name=dead).group_by("name").agg(notes=agg.count()).sort("name")


class Lethal(Max):
    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        if any(frame.f_code.co_qualname == "Intake.add" for frame, _ in walk_stack(None)):
            with Path(__file__).with_name("gathered").open("a") as file:
                file.write(f"{os.getpid()}\\n")
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().merge(batch, name)


@dataset.query(name=TEXT, last=TEXT)
def q2() -> Relation:
    """Crashes its worker while a partition gathers partials, and not before"""
    return notes.with_columns(last=pl.col("name")).group_by("name").agg(last=Lethal("last")).sort("name")
'''
GATHERED = "gathered"
"""The file, beside the dataset, with the process ids of the workers that the second query has crashed."""


class Attacker:
    """A tenant with a token of its own."""

    def __init__(self, service: Running, token: str, over: threading.Event) -> None:
        self.service = service
        self.token = token
        self.over = over
        self.caused: Counter[str] = Counter()
        self.seen: list[bytes] = []
        """Answers about the cluster."""
        self.problems: list[BaseException] = []
        """What went wrong in the attacks themselves."""
        self._number = 0
        self._lock = threading.Lock()

    def ask(self, method: str, path: str, body: bytes | None = None, content: str = "application/json") -> Reply:
        headers = {"Content-Type": content} if body is not None else {}
        return self.service.ask(method, path, body, headers, token=self.token)

    def create(self, dataset: str, query: str, **parameters: str) -> str:
        """The path of a new job, once the service takes it."""
        with self._lock:
            self._number += 1
            path = f"/v1/jobs/hostile-{self._number}"
        wanted = json.dumps({"dataset": dataset, "queries": [query], "parameters": parameters}).encode()
        self.patiently("PUT", path, wanted)
        return path

    def patiently(
        self, method: str, path: str, body: bytes, content: str = "application/json", compression: str = ""
    ) -> None:
        """Until the service has taken it, or the attack is over."""
        headers = {"Content-Type": content, **({"Content-Encoding": compression} if compression else {})}
        while (reply := self.service.ask(method, path, body, headers, token=self.token)).status >= 400:
            if self.over.wait(0.5):
                return
            assert reply.status in (429, 503), reply.body

    def send(self, job: str, tables: dict[str, bytes], compression: str = "") -> None:
        for table, body in tables.items():
            sent = pa.compress(body, codec=compression, asbytes=True) if compression else body
            path = f"{job}/tables/{table}"
            self.patiently("PUT", f"{path}/parts/0", sent, "text/csv", compression)
            self.patiently("POST", f"{path}/complete", b'{"parts": 1}')

    def cancel_all(self) -> None:
        for number in range(1, self._number + 1):
            self.ask("DELETE", f"/v1/jobs/hostile-{number}")

    def until_over(self, job: str) -> dict[str, object] | None:
        """The status at its end; None if the attack ended first."""
        while not self.over.wait(0.2):
            reply = self.ask("GET", job)
            if reply.status == 200 and reply.json()["state"] in OVER:
                return reply.json()
        return None

    def kill_workers(self) -> None:
        """Jobs whose query kills its worker at every attempt."""
        for _ in range(LETHAL_JOBS):
            job = self.create("lethal", "q1")
            self.send(job, {"notes": b"name\nx\n"})
            ended = self.until_over(job)
            if ended is None:
                return
            assert ended["state"] == "failed", ended
            self.caused["lethal"] += 1
            self.over.wait(5.0)

    def kill_gathering_workers(self) -> None:
        """A job whose partitions crash their workers while they gather their input."""
        job = self.create("lethal", "q2")
        for part in range(GATHERED_PARTS):
            names = range(part * GATHERED_ROWS, (part + 1) * GATHERED_ROWS)
            body = "\n".join(["name", *map(str, names), ""]).encode()
            self.patiently("PUT", f"{job}/tables/notes/parts/{part}", body, "text/csv")
        self.patiently("POST", f"{job}/tables/notes/complete", json.dumps({"parts": GATHERED_PARTS}).encode())
        ended = self.until_over(job)
        if ended is not None:
            assert ended["state"] == "failed", ended
            assert "quarantined" in str(ended["cause"])
            crashed = (self.service.folder.parent / GATHERED).read_text().split()
            self.caused["gathering"] = len(set(crashed))

    def multiply_rows(self) -> None:
        """Joins in which every row matches every row."""
        for _ in range(JOIN_JOBS):
            job = self.create("movies", "q4")
            self.send(job, join_bomb())
            self.caused["join"] += 1
            if self.until_over(job) is None:
                return

    def score_long_texts(self) -> None:
        """A few kilobytes on the wire that are megabytes to score."""
        for sentiment, text in (("vader", "good but bad "), ("textblob", "!!! "), ("vader", "!"), ("textblob", "not ")):
            job = self.create("books", "q5", sentiment=sentiment)
            self.send(job, text_bomb(text), "gzip")
            self.caused["scored"] += 1
        self.over.wait()

    def hold_jobs_open(self) -> None:
        """Uploads that never end."""
        for _ in range(OPEN_JOBS):
            if self.over.is_set():
                return
            self.create("coffee", "q1")
            self.caused["open"] += 1
        self.over.wait()

    def send_slowly(self) -> None:
        """Parts that announce much and deliver one byte."""
        while not self.over.is_set():
            with ExitStack() as stack:
                found = [
                    stack.enter_context(self._raw("PUT", f"{FIRST}/tables/transactions/parts/0", 60 << 20))
                    for _ in range(SLOW_SOCKETS)
                ]
                self.caused["slow"] += len(found)
                self.over.wait(30.0)

    def hold_streams(self) -> None:
        """Event streams that are opened and never read."""
        with ExitStack() as stack:
            for _ in range(IDLE_STREAMS):
                if self.over.is_set():
                    return
                stack.enter_context(self._raw("GET", f"{FIRST}/events"))
                self.caused["stream"] += 1
            self.over.wait()

    def look_around(self) -> None:
        """Everything that the service answers about its processes."""
        while not self.over.wait(0.5):
            for path in ("/v1/cluster", "/v1/cluster/events", "/v1/jobs"):
                reply = self.ask("GET", path)
                if reply.status == 200:
                    self.seen.append(reply.body)
                    self.caused["look"] += 1

    def watch_cluster(self) -> None:
        """The same as a stream, before the attack takes all streams that it may have."""
        while not self.over.is_set():
            with self._raw("GET", "/v1/cluster/live") as connection, suppress(TimeoutError):
                while not self.over.is_set() and (data := connection.recv(1 << 16)):
                    self.seen.append(data)
                    self.caused["watched"] += 1

    def damage_own_log(self) -> None:
        """One of its jobs cannot be read any more, as after a fault of the disk."""
        damage(self._folder_of(self.create("coffee", "q1")))
        self.caused["damaged"] += 1

    def block_own_logs(self) -> None:
        """The logs of a job that is under way cannot be read any more. A process that has their files open goes on
        until it is killed by another attack."""
        job = self.create("coffee", "q1")
        self.patiently("PUT", f"{job}/tables/transactions/parts/0", TRANSACTIONS, "text/csv")
        block(self._folder_of(job))
        while not self.over.wait(0.5):
            if self._listed_state(job) in ("damaged", "failed"):
                self.caused["unreadable"] += 1
                return

    def _folder_of(self, job: str) -> Path:
        name = job.rpartition("/")[2]
        return next(path for path in (self.service.folder / "jobs").iterdir() if path.name.endswith(f".{name}"))

    def _listed_state(self, job: str) -> str | None:
        """As the list of all jobs shows it; None where it does not."""
        reply = self.ask("GET", "/v1/jobs")
        listed = reply.json()["jobs"] if reply.status == 200 else []
        return next((each["state"] for each in listed if each["job"] == job.rpartition("/")[2]), None)

    @contextmanager
    def _raw(self, method: str, path: str, length: int = 0) -> Iterator[socket.socket]:
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {self.token}"]
        lines += ["Content-Type: text/csv", f"Content-Length: {length}"] if length else ["Accept: text/event-stream"]
        with socket.create_connection(("127.0.0.1", self.service.port), timeout=5.0) as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n" + ("x" if length else "")).encode())
            yield connection


def damage(folder: Path) -> None:
    """Every file of a job holds something else."""
    for path in [each for each in folder.rglob("*") if each.is_file() and each.stat().st_size]:
        os.truncate(path, 0)
        path.write_bytes(os.urandom(64))


def block(folder: Path) -> None:
    """Every segment of a job's logs is a directory."""
    for path in folder.glob("logs/*/*"):
        path.unlink()
        path.mkdir()


def join_bomb() -> dict[str, bytes]:
    movie = "1,T,\"[{'name': 'Drama'}]\",2001-01-01,o,\"[{'name': 'Argentina'}]\",\"[{'name': 'es'}]\",1,1,en"
    header = (
        "id,title,genres,release_date,overview,production_countries,spoken_languages,budget,revenue,original_language"
    )
    cast = "1,\"[{'name': 'A'}]\""
    return {
        "movies": "\n".join([header, *[movie] * JOIN_ROWS, ""]).encode(),
        "credits": "\n".join(["id,cast", *[cast] * JOIN_ROWS, ""]).encode(),
    }


def text_bomb(text: str) -> dict[str, bytes]:
    long = text * (TEXT_BYTES // len(text))
    return {
        "books": b"Title,authors,categories,publishedDate,publisher\nT,['A'],['Fiction'],1999,P\n",
        "reviews": f"Title,review/score,review/text\nT,5.0,{long}\n".encode(),
    }


def _recorded(attack: Callable[[], None]) -> None:
    """An attack that fails is a mistake of the test."""
    try:
        attack()
    except BaseException as problem:
        attack.__self__.problems.append(problem)  # type: ignore[attr-defined]
        raise


def in_threads(attacks: list[Callable[[], None]]) -> list[threading.Thread]:
    threads = [threading.Thread(target=_recorded, args=[each], name=each.__name__, daemon=True) for each in attacks]
    for thread in threads:
        thread.start()
    return threads
