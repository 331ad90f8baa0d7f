"""The client on a real service: answers equal those of the oracle and of `cauce run`, whichever process is killed."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import cauce as library
from cauce.api.formats import FORMATS, Format
from cauce.client import Service
from cauce.client.settings import Settings
from cauce.client.transport import Transport
from cauce.client.upload import Held, Target, held_of
from cauce.datasets import BUILT_IN, load
from cauce.errors import InputDiffers, JobFailed, RefusedRequest
from cauce.lab.generators import generate
from tests.chaos.running import until
from tests.cli.running import COLOURS, Outcome, cauce
from tests.client.real import Real
from tests.client.test_transport import closed_address
from tests.e2e.comparing import Way, assert_same, run
from tests.e2e.hostile_rows import write_hostile_rows
from tests.e2e.test_formats import to_parquet
from tests.oracle.api import answer

TINY = {"books": 0.0003, "movies": 0.001, "flights": 0.00002, "coffee": 0.0002}
ESCAPE = "\x1b"
ONE_QUICK = [name if name == "coffee" else pytest.param(name, marks=pytest.mark.slow) for name in BUILT_IN]
"""All datasets when there is time, one in the daily round."""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    with Real(tmp_path_factory.mktemp("real"), "--workers", "1", "--gateways", "1") as service:
        yield service


@pytest.fixture(scope="module")
def coffee(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coffee")
    generate("coffee", folder, scale=TINY["coffee"], seed=1)
    return folder


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Transactions of some fifty parts of 4 MiB: enough for an upload to be caught in the middle."""
    folder = tmp_path_factory.mktemp("many")
    generate("coffee", folder / "seed", scale=0.002, seed=1, only=["transactions"])
    (*_, last) = sorted((folder / "seed").rglob("*.csv"))
    header, _, rows = last.read_bytes().partition(b"\n")
    with (folder / "transactions_202407.csv").open("wb") as out:
        out.write(header + b"\n")
        for _ in range(200_000_000 // len(rows)):
            out.write(rows)
    shutil.rmtree(folder / "seed")
    return folder


def files_of(out: Path) -> dict[str, bytes]:
    return {path.name.partition(".")[0]: path.read_bytes() for path in out.iterdir()}


def submit(real: Real, folder: Path, dataset: str, data: Path, *more: str) -> Outcome:
    return cauce(folder, "submit", dataset, "--data", str(data), "--gateway", real.url, *more)


def held(real: Real, job: str, table: str) -> Held:
    return held_of(Transport([real.url]), Target("job", job), table)


def held_parts(found: Held) -> int:
    return len(found.parts)


@pytest.mark.quick
@pytest.mark.parametrize("dataset", ONE_QUICK)
def test_submit_writes_the_same_files_as_run_and_the_oracle(real: Real, dataset: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    generate(dataset, data, scale=TINY[dataset], seed=1)
    outcome = submit(real, tmp_path, dataset, data, "--out", "sent")
    assert outcome.code == 0, outcome.err
    assert ESCAPE not in outcome.out + outcome.err
    local = cauce(tmp_path, "run", dataset, "--data", str(data), "--out", "ran", "--workers", "1")
    assert local.code == 0
    assert files_of(tmp_path / "sent") == files_of(tmp_path / "ran")
    assert_same(files_of(tmp_path / "sent"), answer(dataset, data), dataset)
    # The tables shown are the same too; the last line contains the time.
    assert outcome.out.splitlines()[:-1] == local.out.splitlines()[:-1]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("dataset", ONE_QUICK)
def test_every_format_equals_the_files_of_a_local_run(real: Real, dataset: str, form: Format, tmp_path: Path) -> None:
    write_hostile_rows(dataset, tmp_path, 7, 40)
    # The same parts on both sides: they decide where the groups of rows in Parquet and Arrow begin.
    expected = run(dataset, tmp_path, form=form, way=Way(part_bytes=2000))
    with Service(real.url) as service:
        job = service.submit(dataset, tmp_path, settings=Settings(part_bytes=2000))
        for query in load(dataset).queries:
            path = tmp_path / query
            with path.open("w+b") as into:
                job.save(query, form, into)
            assert path.read_bytes() == expected[query], f"{dataset}.{query} as {form}"
        with (tmp_path / "rejects").open("w+b") as into:
            job.save_rejects(into)
        assert (tmp_path / "rejects").read_bytes() == expected["rejects"]


@pytest.mark.parametrize("dataset", ONE_QUICK)
def test_python_has_the_same_frames_as_a_local_run(real: Real, dataset: str, tmp_path: Path) -> None:
    write_hostile_rows(dataset, tmp_path, 3, 40)
    expected = library.run(dataset, tmp_path)
    with library.connect(real.url) as service:
        job = service.submit(dataset, tmp_path, settings=Settings(part_bytes=2000))
        for query, frame in expected.items():
            assert job.results(query).equals(frame), query
            pages = pl.concat(job.pages(query, limit=3))
            assert pages.schema == frame.schema, query
            assert pages.equals(frame), query
        assert job.rejects().equals(expected.rejects)


def test_all_answers_of_a_job_are_those_of_a_local_run(real: Real, coffee: Path) -> None:
    local = library.run("coffee", coffee, "q1,q3")
    with library.connect(real.url) as service:
        there = service.submit("coffee", coffee, "q1,q3").answers()
    assert list(there) == ["q1", "q3"]
    assert all(there[query].equals(local[query]) for query in local)
    assert there.rejects.equals(local.rejects)
    assert there.questions == local.questions
    with pytest.raises(KeyError, match="no answer 'q2'; there are q1, q3"):
        there["q2"]


def pack_gz(path: Path) -> None:
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))


def pack_zst(path: Path) -> None:
    with pa.CompressedOutputStream(str(path.with_name(path.name + ".zst")), "zstd") as out:
        out.write(path.read_bytes())


def pack_parquet(path: Path) -> None:
    to_parquet(path, ";" if path.name.startswith("airports") else ",", row_group_size=17)


@pytest.mark.parametrize("pack", [pack_gz, pack_zst, pack_parquet])
@pytest.mark.parametrize("dataset", ONE_QUICK)
def test_packed_files_give_the_same_answers(real: Real, dataset: str, pack: object, tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_hostile_rows(dataset, data, 8, 40, damage=pack is not pack_parquet)
    plain = run(dataset, data)
    for path in sorted(data.rglob("*.csv")):
        pack(path)  # type: ignore[operator]
        path.unlink()
    with Service(real.url) as service:
        job = service.submit(dataset, data, settings=Settings(part_bytes=2000))
        for query in load(dataset).queries:
            with (tmp_path / query).open("w+b") as into:
                job.save(query, "csv", into)
            assert (tmp_path / query).read_bytes() == plain[query], query


@pytest.mark.parametrize("compress", ["zstd", "none"])
def test_compressed_or_not_the_answers_are_the_same(real: Real, coffee: Path, compress: str, tmp_path: Path) -> None:
    assert submit(real, tmp_path, "coffee", coffee, "--compress", compress).code == 0
    assert_same(files_of(tmp_path / "answers"), answer("coffee", coffee), compress)


def test_frames_in_place_of_files_give_the_same_answers(real: Real, coffee: Path) -> None:
    expected = library.run("coffee", coffee)
    files = sorted((coffee / "users").glob("*.csv"))
    users = pl.concat(pl.read_csv(file, infer_schema=False) for file in files)
    with Service(real.url) as service:
        job = service.submit("coffee", coffee, tables={"users": users})
        for query, frame in expected.items():
            assert job.results(query).equals(frame)


@pytest.mark.slow
def test_a_parameter_and_a_choice_of_queries_reach_the_service(real: Real, tmp_path: Path) -> None:
    data = tmp_path / "data"
    generate("books", data, scale=TINY["books"] / 2, seed=4)
    assert submit(real, tmp_path, "books", data, "--queries", "q5", "--sentiment", "textblob").code == 0
    assert_same(files_of(tmp_path / "answers"), answer("books", data, ["q5"], "textblob"))


@pytest.mark.slow
def test_a_killed_client_resumes_and_sends_only_missing_parts(real: Real, many: Path, tmp_path: Path) -> None:
    arguments = ["coffee", "--data", str(many), "--gateway", real.url, "--queries", "q1", "--job", "killed"]
    process = subprocess.Popen(
        [sys.executable, "-m", "cauce", "submit", *arguments], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    try:
        until("some parts", lambda: _some_held(real, "killed", "transactions") > 3)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    before = held(real, "killed", "transactions")
    assert before.complete is None, "it was over before it could be killed"
    with Service(real.url) as service:
        seen: dict[str, int] = {}
        job = service.submit(
            "coffee", many, ["q1"], job="killed", on_progress=lambda sent: seen.update({"sent": sent.sent})
        )
        after = held(real, "killed", "transactions")
        assert after.complete == held_parts(after)
        # Requests in flight when the client was killed may have arrived after the check.
        assert seen["sent"] <= held_parts(after) - held_parts(before)
        assert seen["sent"] >= held_parts(after) - held_parts(before) - 4
        with (tmp_path / "q1").open("w+b") as into:
            job.save("q1", "csv", into)
    assert cauce(tmp_path, "run", "coffee", "--data", str(many), "--queries", "q1", "--out", "ran").code == 0
    assert (tmp_path / "q1").read_bytes() == (tmp_path / "ran" / "q1.csv").read_bytes()


def _some_held(real: Real, job: str, table: str) -> int:
    try:
        return held_parts(held(real, job, table))
    except RefusedRequest:
        return 0


@pytest.mark.slow
def test_an_interrupted_client_resumes_with_the_printed_command(real: Real, many: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in COLOURS}
    arguments = ["coffee", "--data", str(many), "--gateway", real.url, "--queries", "q1", "--job", "detached"]
    process = subprocess.Popen(
        [sys.executable, "-m", "cauce", "submit", *arguments],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        until("some parts", lambda: _some_held(real, "detached", "transactions") > 0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out) == (130, "")
    again = shlex.split(err.partition("Continue with: cauce ")[2])
    assert again[0] == "submit"
    back = cauce(tmp_path, *again)
    assert back.code == 0, back.err
    assert (tmp_path / "answers" / "q1.csv").read_bytes().count(b"\n") > 1


def test_the_same_submit_again_sends_nothing_and_fetches_the_same(real: Real, coffee: Path, tmp_path: Path) -> None:
    assert submit(real, tmp_path, "coffee", coffee, "--job", "twice").code == 0
    first = files_of(tmp_path / "answers")
    shutil.rmtree(tmp_path / "answers")
    assert submit(real, tmp_path, "coffee", coffee, "--job", "twice").code == 0
    assert files_of(tmp_path / "answers") == first


def test_one_changed_digit_under_the_id_of_a_job_that_is_done_is_refused(
    real: Real, coffee: Path, tmp_path: Path
) -> None:
    """The file is as long as before, and the service has released its raw data."""
    assert submit(real, tmp_path, "coffee", coffee, "--job", "changed", "--queries", "q1").code == 0
    shutil.copytree(coffee, tmp_path / "copy")
    path = sorted((tmp_path / "copy" / "transactions").glob("*.csv"))[3]
    content = bytearray(path.read_bytes())
    place = next(at for at in range(len(content) // 2, len(content)) if chr(content[at]).isdigit())
    content[place] = ord("8") if content[place] != ord("8") else ord("9")
    path.write_bytes(content)
    outcome = submit(real, tmp_path, "coffee", tmp_path / "copy", "--job", "changed", "--queries", "q1", "--out", "o")
    assert outcome.code == 1
    assert (
        f"error [input-differs] job changed was sent with other data: table transactions, file transactions/{path.name}"
        in (outcome.err)
    )
    assert not (tmp_path / "o").exists()
    with Service(real.url) as service:
        with pytest.raises(InputDiffers, match=path.name):
            service.submit("coffee", tmp_path / "copy", ["q1"], job="changed")
        assert service.submit("coffee", coffee, ["q1"], job="changed").status().state == "done"


def test_another_request_under_the_same_id_is_refused(real: Real, coffee: Path, tmp_path: Path) -> None:
    assert submit(real, tmp_path, "coffee", coffee, "--job", "other", "--queries", "q1").code == 0
    outcome = submit(real, tmp_path, "coffee", coffee, "--job", "other", "--queries", "q3")
    assert outcome.code == 1
    assert "[job-exists-otherwise] job other was created with queries q1, not q3" in outcome.err


def test_an_unreachable_gateway_is_skipped(real: Real, coffee: Path, tmp_path: Path) -> None:
    crashed = [word for _ in range(2) for word in ("--gateway", closed_address())]
    outcome = cauce(
        tmp_path, "submit", "coffee", "--data", str(coffee), *crashed, "--gateway", real.url, "--queries", "q1"
    )
    assert outcome.code == 0, outcome.err


def test_rejects_have_the_lines_of_the_files(real: Real, tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_hostile_rows("coffee", data, 5, 60)
    outcome = submit(real, tmp_path, "coffee", data, "--job", "rejects")
    assert outcome.code == 0
    expected = answer("coffee", data)["rejects"]
    assert (tmp_path / "answers" / "rejects.csv").read_bytes() == expected
    printed = cauce(tmp_path, "rejects", "rejects", "--gateway", real.url)
    assert printed.out.encode() == expected.replace(b"\r\n", b"\n") or printed.out.encode() == expected
    rows = json.loads(cauce(tmp_path, "rejects", "rejects", "--gateway", real.url, "--json").out)
    assert len(rows) == pl.read_csv(expected, infer_schema=False).height


@pytest.mark.slow
def test_a_job_from_submission_to_removal_by_commands(real: Real, coffee: Path, tmp_path: Path) -> None:
    sent = submit(real, tmp_path, "coffee", coffee, "--job", "life", "--no-wait", "--json")
    assert sent.code == 0
    assert json.loads(sent.out)["job"] == "life"
    where = ("--gateway", real.url)
    watched = cauce(tmp_path, "watch", "life", *where, "--json")
    assert watched.code == 0
    assert json.loads(watched.out.splitlines()[-1])["state"] == "done"
    status = json.loads(cauce(tmp_path, "status", "life", *where, "--json").out)
    assert {name: each["complete"] for name, each in status["answers"].items()} == dict.fromkeys(
        ("q1", "q2", "q3", "q4"), True
    )
    assert "life" in [each["job"] for each in json.loads(cauce(tmp_path, "jobs", *where, "--json").out)]
    for form in FORMATS:
        name = f"q3.{form}"
        assert cauce(tmp_path, "results", "life", "--query", "q3", "--format", form, "--out", name, *where).code == 0
        assert (tmp_path / name).read_bytes() == run("coffee", coffee, ["q3"], form=form)["q3"]
    printed = cauce(tmp_path, "results", "life", "--query", "q3", *where).out
    assert printed == (tmp_path / "q3.csv").read_text()
    assert json.loads(cauce(tmp_path, "results", "life", "--query", "q3", *where, "--json").out)
    assert cauce(tmp_path, "results", "life", "--query", "q9", *where).code == 2
    assert json.loads(cauce(tmp_path, "why", "life", *where, "--json").out)["why"]
    (cancelled,) = json.loads(cauce(tmp_path, "cancel", "life", *where, "--json").out)
    assert cancelled["job"] == "life"


def test_a_cancelled_job_ends_watch_and_submit_with_1(real: Real, coffee: Path, tmp_path: Path) -> None:
    with Service(real.url) as service:
        body = b'{"dataset": "coffee", "queries": [], "parameters": {}}'
        service._transport.request("PUT", "/v1/jobs/gone", body, {"Content-Type": "application/json"})
        job = service.job("gone")
        assert job.status().state in ("created", "receiving")
        assert "wait" in job.why()
        assert job.cancel().state == "cancelled"
        assert job.cancel().state == "cancelled"
        with pytest.raises(JobFailed, match="is cancelled"):
            job.wait()
    assert cauce(tmp_path, "watch", "gone", "--gateway", real.url).code == 1
    outcome = submit(real, tmp_path, "coffee", coffee, "--job", "gone")
    assert outcome.code == 1
    assert "Traceback" not in outcome.err


@pytest.mark.slow
def test_over_tls_a_job_is_visible_to_its_owner_only(coffee: Path, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *files]
    subprocess.run(command, check=True, capture_output=True)
    service = tmp_path / "real" / "service"
    ana, bea = (cauce(tmp_path, "token", "create", name, "--dir", str(service)).out.strip() for name in ("a", "b"))
    tls = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with Real(tmp_path / "real", "--workers", "1", "--gateways", "1", *tls) as real:
        assert real.url.startswith("https://")
        untrusted = cauce(tmp_path, "jobs", "--gateway", real.url)
        assert untrusted.code == 1
        assert "is not trusted" in untrusted.err
        assert "--ca" in untrusted.err
        trusted = ("--ca", str(certificate))
        sent = submit(real, tmp_path, "coffee", coffee, *trusted, "--token", ana, "--job", "hers", "--queries", "q1")
        assert sent.code == 0, sent.err
        assert cauce(tmp_path, "status", "hers", "--gateway", real.url, *trusted, "--token", ana).code == 0
        other = cauce(tmp_path, "status", "hers", "--gateway", real.url, *trusted, "--token", bea)
        assert (other.code, "no-such-job" in other.err) == (2, True)
        wrong = cauce(tmp_path, "status", "hers", "--gateway", real.url, *trusted, "--token", ana + "x")
        assert (wrong.code, "unauthorized" in wrong.err) == (2, True)
        for secret in (ana, bea):
            assert secret not in real.log_text() + sent.err + other.err + wrong.err


def test_a_job_that_was_never_submitted_is_not_found(real: Real, tmp_path: Path) -> None:
    for command in ("status", "watch", "rejects", "why"):
        outcome = cauce(tmp_path, command, "nobody", "--gateway", real.url)
        assert outcome.code == 2, command
        assert "no-such-job" in outcome.err
        assert outcome.err.count("\n") == 1
