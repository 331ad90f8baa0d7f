"""The datasets that a process may load."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cauce.datasets import BUILT_IN
from cauce.datasets.registry import Registry, RunRegistry
from cauce.errors import DatasetMissing, PlanError, UsageError
from tests.datasets.test_load import SHOP


def declared(path: Path, name: str) -> Path:
    path.write_text(SHOP % name)
    return path


def test_registry_without_files_has_only_built_in_datasets() -> None:
    assert Registry().names() == list(BUILT_IN)


def test_dataset_file_is_registered_under_its_declared_name(tmp_path: Path) -> None:
    registry = Registry([declared(tmp_path / "file.py", "shop")])
    assert registry.names() == [*BUILT_IN, "shop"]
    assert registry.load("shop").name == "shop"


def test_a_path_is_never_loaded(tmp_path: Path) -> None:
    path = declared(tmp_path / "shop.py", "shop")
    with pytest.raises(DatasetMissing, match="start it with --dataset FILE"):
        Registry().load(str(path))


@pytest.mark.parametrize("names", [("shop", "shop"), ("coffee", "shop")])
def test_two_datasets_of_the_same_name_are_rejected_at_the_start(tmp_path: Path, names: tuple[str, str]) -> None:
    files = [declared(tmp_path / f"{number}.py", name) for number, name in enumerate(names)]
    with pytest.raises(UsageError, match="another dataset has that name"):
        Registry(files).check()


def test_invalid_dataset_file_is_rejected_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("x = 1")
    with pytest.raises(PlanError, match="declares no dataset"):
        Registry([tmp_path / "own.py"]).check()


def test_invalid_dataset_file_keeps_its_name_until_it_is_corrected(tmp_path: Path) -> None:
    path = declared(tmp_path / "file.py", "shop")
    registry = Registry([path])
    assert "shop" in registry.names()
    path.write_text("raise RuntimeError('broken')")
    assert "shop" in registry.names()
    with pytest.raises(PlanError, match="broken"):
        registry.load("shop")
    declared(path, "shop")
    assert registry.load("shop").name == "shop"


def test_registry_state_changes_with_a_file(tmp_path: Path) -> None:
    path = declared(tmp_path / "shop.py", "shop")
    registry = Registry([path])
    before = registry.state
    os.utime(path, (1, 1))
    assert registry.state != before


def test_the_workers_of_a_run_have_its_dataset_under_every_name(tmp_path: Path) -> None:
    registry = RunRegistry(str(declared(tmp_path / "mine.py", "coffee")))
    assert registry.load("coffee").source == tmp_path / "mine.py"
    assert registry.load("anything").name == "coffee"
