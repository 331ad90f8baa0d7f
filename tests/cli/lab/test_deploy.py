"""`cauce deploy` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import cauce, written


@pytest.mark.parametrize("platform", ["compose", "kubernetes"])
def test_it_writes_a_folder_and_prints_the_path_of_its_readme(platform: str, tmp_path: Path) -> None:
    outcome = cauce(
        tmp_path, "deploy", platform, "--workers", "4", "--gateways", "1", "--doctors", "3", "--out", "here"
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "wrote here; the commands to run are in here/README.md\n"
    assert "4 workers" in (tmp_path / "here/README.md").read_text(encoding="utf-8")


def test_the_folder_is_named_for_the_platform(tmp_path: Path) -> None:
    assert cauce(tmp_path, "deploy", "compose").code == 0
    assert (tmp_path / "compose/compose.yaml").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("compose", "--out", "full"), "full is not empty"),
        (("kubernetes", "--out", "full"), "full is not empty"),
        (("compose", "--memory", "lots"), "--memory lots is not a size"),
        (("kubernetes", "--storage", "1Gi"), "--storage 1Gi is too small"),
        (("kubernetes", "--image", "no image"), "--image no image is not the name of an image"),
        (("kubernetes", "--broker-image", "rabbitmq:4.0"), "too old for Kubernetes"),
    ],
)
def test_an_invalid_request_is_reported_in_one_sentence_and_writes_nothing(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/precious").write_text("x")
    outcome = cauce(tmp_path, "deploy", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("error [usage]")
    assert sentence in outcome.err
    assert outcome.err.count("\n") == 1
    assert written(tmp_path) == ["full", "full/precious"]
