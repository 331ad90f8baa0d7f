"""The package as a wheel installs it, without a clone beside it: commands that need more than the package work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 120


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that the build settings of the wheel describe."""
    site = tmp_path_factory.mktemp("site")
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    copies = {**{each: Path(each).name for each in wheel["packages"]}, **wheel["force-include"]}
    for source, target in copies.items():
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, site / target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, site / target)
    return site


def cauce(site: Path, folder: Path, *arguments: str) -> str:
    """The standard output of a command that must succeed, run in another directory."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-P", "-m", "cauce", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_benchmark_is_found(site: Path, tmp_path: Path) -> None:
    assert "--peers" in cauce(site, tmp_path, "bench", "--help")


@pytest.mark.parametrize("platform", ["compose", "kubernetes"])
def test_files_of_a_deployment_are_written(site: Path, tmp_path: Path, platform: str) -> None:
    cauce(site, tmp_path, "deploy", platform, "--out", "made")
    locks = [path for path in (tmp_path / "made").rglob("requirements.lock") if path.parent.name == "image"]
    assert [path.read_bytes() for path in locks] == [(ROOT / "requirements.lock").read_bytes()]


def test_the_package_is_typed(site: Path) -> None:
    assert (site / "cauce" / "py.typed").is_file()


def test_the_installed_command_defers_the_methods_of_dataclasses(site: Path, tmp_path: Path) -> None:
    """As `python -m cauce` does: it takes a fifth of the start-up time."""
    module, name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["cauce"].split(":")
    code = (
        f"import os, sys; from {module} import {name}; sys.argv = ['cauce', '--version']\n"
        "ended = os._exit\n"
        "def report(code):\n"
        "    import dataclasses; print(vars(dataclasses)['_create_fn'].__module__, flush=True); ended(code)\n"
        f"os._exit = report; {name}()"
    )
    if sys.version_info >= (3, 13):
        pytest.skip("only for versions that compile every method")
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout.endswith("cauce.lazy_dataclasses\n"), done.stderr
