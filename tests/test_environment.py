"""The environment that `scripts/environment.sh` creates. Needs no network: the lock file is empty."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow
STUB = "def compile_kernels(): pass\n"


def make_clone(folder: Path) -> Path:
    """A copy of the project files that the script needs."""
    for path, content in {"requirements.lock": "", "src/cauce/scan/warm_up.py": STUB}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with its environment, for tests that leave it as it is."""
    clone = make_clone(tmp_path_factory.mktemp("installed") / "clone")
    done = set_up(clone)
    assert done.returncode == 0, done.stderr
    return clone


@pytest.fixture
def clone(installed: Path, tmp_path: Path) -> Path:
    """A copy of a clone with its environment, which uses its own sources."""
    copy = shutil.copytree(installed, tmp_path / "clone", symlinks=True)
    assert set_up(copy).stdout == f"{copy}/src/cauce/scan/warm_up.py\n"
    return copy


@pytest.fixture
def linked(clone: Path, tmp_path: Path) -> Path:
    """A second clone, whose environment is a link to that of the first."""
    other = make_clone(tmp_path / "linked")
    (other / ".venv").symlink_to(clone / ".venv")
    return other


def own_environment() -> dict[str, str]:
    """Without the sources of this clone, which are on the path if its own environment is a link."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def set_up(clone: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [
        shutil.which("bash") or "bash",
        "-euo",
        "pipefail",
        "-c",
        "source scripts/environment.sh requirements.lock; "
        "exec $python -c 'import cauce.scan.warm_up as used; print(used.__file__)'",
    ]
    environment = {**own_environment(), "CAUCE_PYTHON": getattr(sys, "_base_executable", sys.executable)}
    environment |= variables
    return subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)


def importable(clone: Path, *modules: str) -> list[str]:
    command = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    python = str(clone / ".venv/bin/python")
    calls = {each: [python, "-c", command, each] for each in modules}
    return [
        each for each, call in calls.items() if subprocess.run(call, env=own_environment(), check=False).returncode == 0
    ]


def test_environment_has_neither_pip_nor_setuptools(installed: Path) -> None:
    assert importable(installed, "cauce.scan.warm_up", "pip", "setuptools") == ["cauce.scan.warm_up"]


def test_another_lock_is_installed_into_an_environment_without_pip(clone: Path) -> None:
    (clone / "requirements.lock").write_text("# changed\n")
    done = set_up(clone)
    assert (done.returncode, "setting up" in done.stderr) == (0, True), done.stderr
    assert "setting up" not in set_up(clone).stderr
    assert importable(clone, "pip", "setuptools") == []


def sources_of(clone: Path) -> list[str]:
    return [path.read_text() for path in (clone / ".venv").glob("lib/python*/site-packages/cauce.pth")]


def test_a_linked_environment_is_used_with_the_sources_of_the_own_clone(clone: Path, linked: Path) -> None:
    done = set_up(linked)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{linked}/src/cauce/scan/warm_up.py\n"
    assert sources_of(clone) == [f"{clone}/src\n"]
    assert set_up(clone).stdout == f"{clone}/src/cauce/scan/warm_up.py\n"


def test_nothing_is_installed_into_a_linked_environment(clone: Path, linked: Path) -> None:
    (linked / "requirements.lock").write_text("# changed\n")
    done = set_up(linked)
    assert done.returncode == 1
    assert f"{linked}/.venv is a link to the environment of {clone}" in done.stderr
    assert "remove the link" in done.stderr
    assert sources_of(clone) == [f"{clone}/src\n"]


def test_a_moved_clone_uses_its_own_sources_and_installs_nothing(clone: Path, tmp_path: Path) -> None:
    moved = clone.rename(tmp_path / "moved")
    done = set_up(moved)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{moved}/src/cauce/scan/warm_up.py\n"


def test_a_current_environment_is_found_without_starting_programs(clone: Path) -> None:
    done = set_up(clone, PATH="")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{clone}/src/cauce/scan/warm_up.py\n"


def test_a_lock_that_was_written_again_is_compared_once(clone: Path) -> None:
    stamp = clone / ".venv" / ".requirements.lock.sum"
    os.utime(stamp, (1, 1))
    assert set_up(clone).returncode == 0
    assert stamp.stat().st_mtime > (clone / "requirements.lock").stat().st_mtime
    assert set_up(clone, PATH="").returncode == 0
