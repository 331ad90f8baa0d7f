"""Datasets kept by a real service: questions over HTTP equal DuckDB, at once, over versions, and under kills."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cauce.client import Service
from cauce.client.settings import Settings
from cauce.errors import InputDiffers, Refused
from tests.cli.running import cauce
from tests.service.conftest import QUERIES, Case
from tests.service.kept_shop import QUESTIONS, Rows, by_duckdb, write_orders, write_shop
from tests.service.running import Running, until

SMALL = Settings(part_bytes=16_000)
FABRICS = ["files", pytest.param("rabbitmq", marks=pytest.mark.slow)]


def ask(url: str, question: str, job: str | None = None) -> Rows:
    with Service(url) as service:
        return service.sql(QUESTIONS[question], on="shop", job=job)["q1"].rows()


def upload(service: Service, data: Path) -> int:
    from cauce.client.kept_upload import Keeping

    return service.keep("shop", Keeping(data), settings=SMALL).version


@pytest.mark.parametrize("fabric", FABRICS, indirect=True)
def test_questions_over_versions_equal_duckdb(fabric: list[str], tmp_path: Path) -> None:
    data, more = tmp_path / "data", tmp_path / "more"
    write_shop(data)
    write_orders(more / "orders" / "june.csv", 7, 500)
    first, second = by_duckdb(data), by_duckdb(data, more)
    with (
        Running(tmp_path, "serve", "--workers", "1", "--gateways", "2", "--doctors", "1", *fabric) as running,
        Service(running.url) as service,
    ):
        assert upload(service, data) == 1
        with ThreadPoolExecutor() as threads:
            asked = {name: threads.submit(ask, running.url, name, f"old-{name}") for name in QUESTIONS}
        assert {name: found.result() for name, found in asked.items()} == first
        assert upload(service, data) == 1
        assert upload(service, more) == 2
        assert {name: ask(running.url, name) for name in QUESTIONS} == second
        assert {name: ask(running.url, name, f"old-{name}") for name in QUESTIONS} == first
        write_orders(data / "orders" / "may.csv", 8, 100)
        with pytest.raises(InputDiffers, match=r"file orders/may.csv.*give new rows a file of another name"):
            upload(service, data)
        assert [(each.name, each.version) for each in service.datasets()] == [("shop", 2)]
        service.drop("shop")
        assert service.datasets() == []
        with pytest.raises(Refused, match="dataset shop is not kept here"):
            ask(running.url, "spent")
        service.upload("brief", more, keep_s=1.0)
        until("the expiry of a dataset", lambda: not service.datasets())


def test_an_interrupted_upload_is_resumed(service: Running, tmp_path: Path) -> None:
    write_shop(tmp_path / "data")
    sent: list[str] = []

    class Broken(Exception):
        pass

    def stop(progress: object) -> None:
        sent.append(str(progress))
        if len(sent) == 3:
            raise Broken

    from cauce.client.kept_upload import Keeping

    with Service(service.url) as client:
        with pytest.raises(Broken):
            client.keep("torn", Keeping(tmp_path / "data"), stop, SMALL)
        found = client.kept("torn")
        assert found is not None
        assert found.version == 0
        held = sum(table.parts for table in found.tables.values())
        assert held >= 3
        numbers: dict[str, int] = {}
        client.keep("torn", Keeping(tmp_path / "data"), lambda each: numbers.update({each.table: each.sent}), SMALL)
        complete = client.kept("torn")
        assert complete is not None
        assert complete.version == 1
        assert sum(numbers.values()) == sum(table.parts for table in complete.tables.values()) - held
        client.drop("torn")


def test_progress_names_a_table_as_people_know_it(service: Running, tmp_path: Path) -> None:
    (tmp_path / "sales of may.csv").write_text("id\n1\n")
    totals: dict[str, int] = {}
    seen: list[str] = []
    from cauce.client.kept_upload import Keeping

    with Service(service.url) as client:
        client.keep("may", Keeping(tmp_path), lambda each: seen.append(each.table), on_prepared=totals.update)
        client.drop("may")
    assert (set(seen), totals) == ({"sales of may"}, {"sales of may": 5})


KILLS = 3


@pytest.mark.parametrize("fabric", [pytest.param("files", marks=pytest.mark.slow),
                                    pytest.param("rabbitmq", marks=pytest.mark.soak)], indirect=True)  # fmt: skip
def test_kills_of_workers_and_gateways_change_no_answer(fabric: list[str], tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_shop(data, 20_000)
    wanted = by_duckdb(data)
    with Running(tmp_path, "serve", "--workers", "2", "--gateways", "2", *fabric) as running:
        with Service(running.url) as service:
            upload(service, data)
        over = threading.Event()
        killed: list[int] = []

        def kill() -> None:
            while not over.wait(0.3) and len(killed) < 2 * KILLS:
                title = ("cauce worker", "cauce gateway")[len(killed) % 2]
                alive = running.children(title)
                if len(alive) == 2:
                    os.kill(alive[0], signal.SIGKILL)
                    killed.append(alive[0])

        killer = threading.Thread(target=kill)
        killer.start()
        rounds = 0
        try:
            while len(killed) < 2 * KILLS or rounds == 0:
                with ThreadPoolExecutor() as threads:
                    asked = {name: threads.submit(ask, running.url, name) for name in QUESTIONS}
                assert {name: found.result() for name, found in asked.items()} == wanted
                rounds += 1
        finally:
            over.set()
            killer.join()
        assert len(set(killed)) == 2 * KILLS
        assert not set(killed) & {*running.children("cauce worker"), *running.children("cauce gateway")}


def test_commands_on_kept_datasets(service: Running, tmp_path: Path) -> None:
    write_shop(tmp_path / "data", 50)
    gateway = ("--gateway", service.url)
    done = cauce(tmp_path, "upload", "store", "--data", "data", "--keep", "1h", *gateway)
    assert done.code == 0, done.err
    assert "version 1" in done.out
    asked = cauce(tmp_path, "sql", "--on", "store", "SELECT count(*) AS n FROM orders", "--out", "out", *gateway)
    assert asked.code == 0, asked.err
    assert (tmp_path / "out" / "q1.csv").read_text() == "n\n100\n"
    printed = cauce(tmp_path, "sql", "--on", "store", "SELECT 7 AS seven FROM customers LIMIT 1", *gateway)
    assert "1 statement over store version 1" in printed.out
    arguments = ("sql", "--on", "store", "SELECT max(id) AS most FROM orders", "--job", "again", *gateway)
    assert cauce(tmp_path, *arguments).code == 0
    assert "99" in cauce(tmp_path, *arguments).out
    assert "sql on store version 1" in cauce(tmp_path, "status", "again", *gateway).out
    wrong = cauce(tmp_path, "sql", "--on", "store", "SELECT n FROM orders", *gateway)
    assert (wrong.code, "error [sql] line 1, column 8" in wrong.err) == (2, True)
    misspelt = cauce(tmp_path, "sql", "--on", "stor", "SELECT 1 FROM orders", *gateway)
    assert (misspelt.code, misspelt.out) == (2, "")
    assert misspelt.err.startswith("error [no-such-dataset] dataset stor is not kept here")
    assert misspelt.err.endswith("did you mean store?\n")
    assert "store  version 1" in cauce(tmp_path, "datasets", *gateway).out
    assert cauce(tmp_path, "drop", "store", *gateway).out == "dropped store\n"
    assert cauce(tmp_path, "drop", "store", *gateway).code == 2


def test_named_queries_run_on_a_kept_declared_dataset(service: Running, case: Case, tmp_path: Path) -> None:
    gateway = ("--gateway", service.url)
    done = cauce(tmp_path, "upload", "library", "--data", str(case.data), "--declared", "books", *gateway)
    assert done.code == 0, done.err
    names = ",".join(QUERIES)
    asked = cauce(tmp_path, "submit", "books", "--on", "library", "--queries", names, "--out", "out", *gateway)
    assert asked.code == 0, asked.err
    for query in QUERIES:
        assert (tmp_path / "out" / f"{query}.csv").read_bytes() == case.wanted[query]
    assert (tmp_path / "out" / "rejects.csv").read_bytes() == case.wanted["rejects"]
    assert cauce(tmp_path, "drop", "library", *gateway).code == 0


def test_the_http_interface_of_kept_datasets(service: Running) -> None:
    columns = [{"name": "id", "type": "integer"}]
    body = {"schema": {"tables": [{"name": "t", "path": "t.csv", "columns": columns}]}, "keep_s": 3600}
    assert service.send_json("PUT", "/v1/datasets/api", body).status == 201
    assert service.send_json("PUT", "/v1/datasets/api", body).status == 200
    assert service.send_json("PUT", "/v1/datasets/api", {**body, "keep_s": 60}).what == (
        409,
        "dataset-exists-otherwise",
    )
    table = "/v1/datasets/api/tables/t"
    put = service.ask("PUT", f"{table}/parts/0", b"id\n1\n2\n", {"Content-Type": "text/csv"})
    assert (put.status, put.json()) == (201, {"part": 0, "new": True})
    assert service.send_json("POST", "/v1/sql", {"sql": "SELECT id FROM t", "on": "api"}).what == (
        409,
        "dataset-not-ready",
    )
    assert service.send_json("POST", f"{table}/complete", {"parts": 1}).json() == {
        "table": "t",
        "parts": 1,
        "new": True,
    }
    assert service.get(table).headers["Cauce-Parts"] == "0"
    found = service.get("/v1/datasets/api").json()
    assert (found["version"], found["owner"], found["bytes"]) == (1, "local", 7)
    assert found["tables"] == {"t": {"parts": 1, "bytes": 7, "complete": 1, "columns": columns}}
    assert "api" in [each["name"] for each in service.get("/v1/datasets").json()["kept"]]  # type: ignore[attr-defined]
    checked = service.send_json("POST", "/v1/sql/check", {"sql": "SELECT id + 1 AS n FROM t", "on": "api"})
    assert checked.json() == {"answers": [{"name": "q1", "columns": [{"name": "n", "type": "bigint"}]}]}
    wrong = service.send_json("POST", "/v1/sql", {"sql": "SELECT id\nFROM u", "on": "api"})
    assert (wrong.what, wrong.json()["line"], wrong.json()["column"]) == ((422, "sql"), 2, 6)
    request = {"sql": "SELECT sum(id) AS s FROM t", "on": "api", "job": "api-sum"}
    assert service.send_json("POST", "/v1/sql", request).status == 201
    assert service.send_json("POST", "/v1/sql", request).status == 200
    service.wait_done("api-sum")
    assert service.get("/v1/jobs/api-sum/results/q1", "text/csv").body == b"s\n3\n"
    assert service.ask("DELETE", "/v1/datasets/api").status == 200
    assert service.ask("DELETE", "/v1/datasets/api").what == (404, "no-such-dataset")
