"""No text for clients names a folder of the service's machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from cauce.api.jobs import JobRequest
from cauce.datasets.registry import Registry
from cauce.errors import FabricError
from cauce.gateway import public_text
from cauce.gateway.asgi.problems import problem_response
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import PartBody
from cauce.gateway.public_text import hide_folders, without_folders
from cauce.gateway.settings import GatewaySettings
from tests.gateway.serving import JOB, OWNER, World, run_to_end

DATASET = """import polars as pl
from cauce.plan import *
t = Table('t', 't.csv', {'a': Text()})
dataset = Dataset('own', (t,))
def boom(values):
    open('/srv/secret/model.bin')
@dataset.query(a=TEXT)
def q1():
    return t.with_columns(a=pl.col('a').map_batches(boom, return_dtype=pl.String)).in_input_order()
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no space left in /srv/cauce/service (No space)", "no space left in service (No space)"),
        ("No such file: '/home/ana/shop.py'", "No such file: 'shop.py'"),
        ("/a/b.py:12: wrong", "b.py:12: wrong"),
        ("in /data; give", "in data; give"),
        ("files:/srv/x", "files:x"),
        ("folder /srv/x/ is full", "folder x is full"),
        ("link ->/etc/x", "link ->x"),
        ("at file:///etc/x", "at file:x"),
        ("in //srv//x", "in x"),
        ("No such file: '/srv/my data/x'", "No such file: 'x'"),
        ('cannot open "/srv/my data/"', 'cannot open "my data"'),
        ("see '/v1/jobs'", "see '/v1/jobs'"),
        ("/v1/jobs/{job}/why and …/tables", "/v1/jobs/{job}/why and …/tables"),
        ("see /openapi.json and /v1/jobs", "see /openapi.json and /v1/jobs"),
        ("http://127.0.0.1:8080/v1/jobs", "http://127.0.0.1:8080/v1/jobs"),
        ("text/csv or */* and/or a / b", "text/csv or */* and/or a / b"),
        ("transactions/2024.csv lacks a", "transactions/2024.csv lacks a"),
    ],
)
def test_absolute_paths_are_shown_by_their_last_name(text: str, shown: str) -> None:
    assert without_folders(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no space left in /srv/my data/service (No space)", "no space left in service (No space)"),
        ("/srv/my data/x y/z.csv is damaged", "z.csv is damaged"),
        ("files:/srv/my data/x y: full", "files:x y: full"),
        ("->/srv/my data/x", "->x"),
        ("/srv/my data is full", "my data is full"),
    ],
)
def test_known_folders_may_contain_spaces(text: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_text, "_known", None)
    monkeypatch.setattr(public_text, "_folders", frozenset())
    hide_folders([Path("/srv/my data/x y"), Path("/srv/plain")])
    assert without_folders(text) == shown


def test_a_gateway_knows_all_paths_that_it_uses(tmp_path: Path) -> None:
    names = ("service", "tokens.json", "fabric", "own.py", "data", "key")
    service, tokens, fabric, dataset, data, key = (tmp_path / name for name in names)
    limits = ServiceLimits(references=(data,), private=(key,))
    settings = GatewaySettings(service, tokens, limits=limits, datasets=(dataset,), fabric=f"files:{fabric}")
    assert set(settings.paths) == {service, tokens, fabric, dataset, data, key}


def test_a_problem_document_names_no_folder() -> None:
    answer = problem_response(
        FabricError("listing the jobs: Permission denied in /srv/cauce/jobs; give this user the right")
    )
    assert answer is not None
    assert b"/srv" not in answer.body
    assert b"Permission denied in jobs" in answer.body


def test_the_cause_of_a_failed_job_names_no_folder(lone: World, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(DATASET)
    lone.datasets = Registry([tmp_path / "own.py"])
    jobs = lone.gateway()
    jobs.create(OWNER, JOB, JobRequest("own"))
    jobs.uploads.put_part(OWNER, JOB, "t", 0, PartBody(b"a\n1\n", "csv"))
    jobs.uploads.complete(OWNER, JOB, "t", 1)
    status = run_to_end(jobs, lone.worker())
    assert status.state == "failed"
    assert "model.bin" in status.cause
    for text in (status.cause, jobs.why(OWNER, JOB), str(jobs.graph(OWNER, JOB))):
        assert "/srv" not in text
        assert str(tmp_path) not in text


def test_a_dataset_that_is_broken_or_gone_is_shown_without_its_folder(lone: World, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(DATASET)
    lone.datasets = Registry([file])
    jobs = lone.gateway()
    jobs.create(OWNER, JOB, JobRequest("own"))
    file.write_text("raise OSError('/srv/secret is missing')\n")
    assert "/srv" not in str(jobs.datasets())
    assert str(tmp_path) not in str(jobs.datasets())
    lone.datasets = Registry()
    shown = lone.gateway().list(OWNER)
    assert shown[0].dataset == "own"
    assert str(tmp_path) not in str(shown)
