"""`cauce generate` and `cauce demo`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cauce.lab.generators import generate
from tests.cli.running import cauce, written


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for out, seed in (("a", "3"), ("b", "3")):
        outcome = cauce(tmp_path, "generate", "flights", "--out", out, "--scale", "0.000001", "--seed", seed)
        assert (outcome.code, outcome.err) == (0, "")
        assert f"{out}/itineraries.csv" in outcome.out
    generate("flights", tmp_path / "other", scale=0.000001, seed=4)
    first, same, other = (contents(tmp_path / out) for out in ("a", "b", "other"))
    assert first == same
    assert first["itineraries.csv"] != other["itineraries.csv"]
    assert set(first) == {"airports-codepublic.csv", "itineraries.csv"}


@pytest.mark.slow
def test_the_demo_shows_nineteen_answers(tmp_path: Path) -> None:
    outcome = cauce(tmp_path, "demo", "--out", "demo", "--scale", "0.0005")
    assert outcome.code == 0
    assert "Traceback" not in outcome.err
    assert "\x1b" not in outcome.out
    shown = re.findall(r"^(books|movies|flights|coffee)\.q([0-9])  ", outcome.out, re.MULTILINE)
    assert len(set(shown)) == len(shown) == 19
    assert "Nineteen queries answered" in outcome.out
    answers = [name for name in written(tmp_path / "demo/answers") if re.search(r"/q[0-9]\.csv$", name)]
    assert len(answers) == 19
