"""Wrong requests of `cauce bench`: one clear sentence, exit code 2, nothing measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import bench.options
import cauce.cli.entry
from bench.options import parsed

CASES = {
    "unknown dataset": (["--dataset", "tea"], "unknown dataset tea; expected one of books"),
    "unknown query": (["--dataset", "coffee", "--queries", "q5"], "coffee has no query q5"),
    "unknown peer": (["--peers", "abacus"], "unknown peer abacus; expected one of duckdb"),
    "no rounds": (["--rounds", "0"], "must be 1 or more"),
    "no size": (["--scale", "0"], "must be above 0"),
    "missing folder": (["--data", "nowhere"], "nowhere is not a folder"),
    "unknown suite": (["--suite", "tpcds"], "invalid choice: 'tpcds'"),
    "unknown peer of a suite": (["--suite", "clickbench", "--peers", "polars"], "unknown peer polars"),
    "unknown format": (["--suite", "tpch", "--formats", "xml"], "unknown format xml; expected one of csv, parquet"),
    "a suite over given files": (["--suite", "tpch", "--data", "."], "omit --data"),
    "scaling over given files": (["--scaling", "--data", "."], "omit --data"),
}


def error_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["cauce", "bench", *arguments])
    with pytest.raises(SystemExit) as ended:
        cauce.cli.entry.entry()
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("case", CASES)
def test_an_invalid_request_is_reported(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, sentence = CASES[case]
    assert sentence in error_of(monkeypatch, capsys, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_peer_is_reported_with_the_way_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench.options, "find_spec", lambda name: None if name == "dask" else sys)
    message = error_of(monkeypatch, capsys, "--dataset", "coffee")
    assert "not installed: dask. ./cauce bench, in a clone, installs all of requirements-bench.lock" in message


def test_each_measurement_has_its_own_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.options, "find_spec", lambda name: sys)
    monkeypatch.setattr(bench.options.shutil, "which", lambda name: name)
    everything, small, scaling = (parsed(arguments, "") for arguments in ([], ["--small"], ["--scaling"]))
    assert (everything.datasets, everything.scale) == (("books", "movies", "flights", "coffee"), 0.1)
    assert (small.datasets, small.scale, small.peers) == (("books",), 0.001, ("polars",))
    assert (scaling.scales, scaling.worker_counts, scaling.peers) == ((0.1, 1.0, 4.0), (1, 2), ())


def test_a_suite_has_its_own_defaults() -> None:
    tpch, clickbench = (parsed(["--suite", name], "") for name in ("tpch", "clickbench"))
    assert (tpch.scale, tpch.peers, tpch.kill_every_s) == (1.0, ("duckdb", "polars"), 1.0)
    assert (clickbench.peers, clickbench.kill_every_s) == (("duckdb",), None)
