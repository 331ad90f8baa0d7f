"""A browser, one service for all tests of a process, files of two datasets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.lab.generators import generate
from tests.service.running import Running, pieces_of, until
from tests.web import river, shop

if not os.environ.get("CI"):
    pytest.importorskip("playwright")

from playwright.sync_api import Browser, expect, sync_playwright

from tests.web.browsing import PATIENCE_MS, browser_path

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not longer than a module: as long as it is there, the process counts as one in which an event loop runs."""
    path = browser_path()
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def coffee(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of 18 months, and those without a month."""
    folder = tmp_path_factory.mktemp("coffee")
    generate("coffee", folder, scale=0.001, seed=3)
    for file in folder.rglob("*_20*.csv"):
        if "_2023" in file.name:
            file.unlink()
    return folder


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    options = ("--workers", "2", "--gateways", "1", "--dataset", str(river.PATH))
    with Running(tmp_path_factory.mktemp("service"), "serve", *options) as running:
        yield running
    assert running.process.returncode == 0
    assert not running.events("internal error"), running.log_text()


@pytest.fixture(scope="package")
def done(service: Running, coffee: Path) -> str:
    """A job that has ended well."""
    from cauce.client import Service

    with Service(service.url) as client:
        client.submit("coffee", coffee, job="coffee")
    return "coffee"


@pytest.fixture(scope="session")
def river_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("river")
    river.write_files(folder)
    return folder


@pytest.fixture(scope="package")
def river_job(service: Running, river_files: Path) -> str:
    """A job with the longest names that are allowed, done."""
    job = "every-station-of-the-river-and-its-tributaries.with-64-characters"[:64]
    queries = [river.BY_STATION, river.BY_MONTH, river.COMPARED]
    service.create(job, river.NAME, queries)
    service.upload(job, pieces_of(str(river.PATH), river_files, 2**20, queries))
    service.wait_done(job)
    return job


@pytest.fixture(scope="package")
def failed_job(service: Running, river_files: Path) -> str:
    """A job that one of its scan tasks has failed."""
    job = "this-job-fails-in-its-scan"
    service.create(job, river.NAME, [river.FAILING])
    (part,) = pieces_of(str(river.PATH), river_files, 2**20, [river.FAILING])
    # The table stays open: the job fails as soon as the part is read.
    assert service.put(job, part).status == 201
    until("the failure", lambda: service.state(job) == "failed")
    return job


@pytest.fixture(scope="package")
def rejecting_job(service: Running, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A job whose readings have cells that are no numbers, and records with too many cells."""
    folder = tmp_path_factory.mktemp("rejects")
    river.write_files(folder)
    river.spoil(folder / "readings.csv")
    service.create("with-rejects", river.NAME, [river.BY_MONTH])
    service.upload("with-rejects", pieces_of(str(river.PATH), folder, 2**16, [river.BY_MONTH]))
    service.wait_done("with-rejects")
    return "with-rejects"


@pytest.fixture(scope="package")
def kept(service: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the dataset that the service keeps as `shop`."""
    folder = tmp_path_factory.mktemp("shop")
    shop.write_files(folder)
    shop.keep(service, folder)
    return folder


@pytest.fixture(scope="package")
def sql_job(service: Running, kept: Path) -> str:
    """A job over the kept dataset, done."""
    assert kept.is_dir()
    job = "sql-page"
    sql = "SELECT country, sum(paid) AS spent FROM orders JOIN customers ON customer = name\nGROUP BY country"
    assert service.send_json("POST", "/v1/sql", {"sql": sql, "on": shop.NAME, "job": job}).status == 201
    service.wait_done(job)
    return job
