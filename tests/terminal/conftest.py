"""Input of the commands in terminals: small files, and services that all tests of a module share."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.running import cauce as in_pipes
from tests.cli.running import small_books
from tests.service.running import end_service

DONE, OPEN = "a-job-that-is-done", "a-job-that-waits"


@dataclass(frozen=True)
class Site:
    """A directory with files, and with a service that a person started there and left alone."""

    folder: Path
    url: str

    @property
    def service(self) -> Path:
        return self.folder / "service"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files") / "data"
    small_books(made)
    return made


def _serve(folder: Path, *options: str) -> Site:
    guarded = ["--end-with", str(os.getpid())]
    outcome = in_pipes(folder, "serve", "--dir", "service", "--port", "0", "--detach", *options, *guarded)
    assert outcome.code == 0, outcome.err
    found = re.search(r"ready on (http\S+) ", outcome.out)
    assert found is not None, outcome.out
    return Site(folder, found[1])


def _submit(site: Site, data: Path, job: str, *options: str) -> None:
    words = ["submit", "books", "--data", str(data), "--queries", "q1", "--job", job, "--gateway", site.url]
    outcome = in_pipes(site.folder, *words, *options)
    assert outcome.code == 0, outcome.err


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[Site]:
    """A service with a job that is done."""
    folder = tmp_path_factory.mktemp("site")
    made = _serve(folder, "--workers", "2", "--gateways", "1", "--doctors", "1")
    try:
        _submit(made, data, DONE, "--out", "answers")
        yield made
    finally:
        end_service(made.service)


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[Site]:
    """A service without workers, whose jobs never end by themselves."""
    folder = tmp_path_factory.mktemp("idle")
    made = _serve(folder, "--workers", "0", "--gateways", "1", "--doctors", "1")
    try:
        _submit(made, data, OPEN, "--no-wait")
        yield made
    finally:
        end_service(made.service)
