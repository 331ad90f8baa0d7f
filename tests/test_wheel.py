"""The wheel: built, installed into an empty environment without a compiler, and used there from another folder.

Skipped where packages cannot be installed. The environment is one of the Python that runs the tests, or of another one:

    CAUCE_WHEEL_PYTHON=/usr/bin/python3.13 ./test tests/test_wheel.py

`CAUCE_WHEEL` is the path of a wheel that was built from these sources already. The answers are compared with those of
the clone, which runs in the Python of the tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cauce.scan.native.processor import levels, supported_levels

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts/wheel.sh"
NOT_INSTALLED = 3
"""Exit code of the script if the builder cannot be installed."""
TIMEOUT_S = 600
COMPILER = ("llvmlite", "numba")
pytestmark = [
    # It compiles all kernels three times and installs all packages.
    pytest.mark.soak,
    pytest.mark.skipif(not supported_levels(), reason="wheels are not built for this processor"),
]
SALES = "day,shop,amount\n2026-01-01,north,10.50\n2026-01-01,south,3\nsoon,north,1\n2026-01-02,north,7.25\n"
QUESTION = "SELECT shop, count(*) AS sales, sum(amount) AS total FROM sales GROUP BY shop ORDER BY shop"


INSTALLED_BYTES = 450 * 10**6
"""The most that an installation may take, without the compiled files that Python adds on first use."""
TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
"""Parts of an environment that the wheel does not need."""


def build(folder: Path) -> Path:
    done = subprocess.run([str(SCRIPT), str(folder)], capture_output=True, text=True, check=False)
    if done.returncode == NOT_INSTALLED:
        pytest.skip(f"the builder cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = os.environ.get("CAUCE_WHEEL")
    return Path(made) if made else build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and the packages that it needs, in their locked versions."""
    folder = tmp_path_factory.mktemp("fresh")
    base = os.environ.get("CAUCE_WHEEL_PYTHON") or getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", folder / "venv"], check=True, timeout=TIMEOUT_S)
    python = folder / "venv/bin/python"
    versions = folder / "versions.txt"
    versions.write_text("\n".join(locked_versions()) + "\n", encoding="utf-8")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    done = subprocess.run(
        [*install, "--constraint", versions, wheel], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    if done.returncode:
        pytest.skip(f"the packages cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    return python


def locked_versions() -> list[str]:
    """The lines of the lock, without hashes."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return [line.removesuffix("\\").strip() for line in lines if "==" in line]


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CAUCE_"))}


def call(command: list[str | Path], folder: Path, **variables: str) -> str:
    """The standard output of a command that must succeed."""
    done = subprocess.run(
        command, cwd=folder, env={**clean_environment(), **variables}, capture_output=True, text=True,
        timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def by_wheel(python: Path, folder: Path, *arguments: str, **variables: str) -> str:
    return call([python.with_name("cauce"), *arguments], folder, **variables)


def by_clone(folder: Path, *arguments: str) -> str:
    return call([sys.executable, "-P", "-m", "cauce", *arguments], folder, PYTHONPATH=str(ROOT / "src"))


def test_nothing_is_missing_and_no_compiler_is_installed(python: Path, tmp_path: Path) -> None:
    assert "No broken requirements" in call([python, "-m", "pip", "check"], tmp_path)
    code = f"from importlib.util import find_spec; print([name for name in {COMPILER} if find_spec(name)])"
    assert call([python, "-c", code], tmp_path).strip() == "[]"


def test_an_installation_is_small(python: Path) -> None:
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    files = [path for path in site.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    needed = [path for path in files if not path.relative_to(site).parts[0].startswith(TOOLS)]
    assert sum(path.stat().st_size for path in needed) < INSTALLED_BYTES


def test_a_service_starts_answers_and_stops(python: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/sales.csv").write_text(SALES)
    roles = ["--workers", "2", "--gateways", "1", "--doctors", "1"]
    started = by_wheel(python, tmp_path, "serve", "--dir", "service", "--port", "0", *roles, "--detach")
    try:
        (address,) = re.findall(r"http://127\.0\.0\.1:\d+", started)
        by_wheel(python, tmp_path, "upload", "shop", "--data", "data", CAUCE_GATEWAY=address)
        by_wheel(python, tmp_path, "sql", QUESTION, "--on", "shop", "--out", "answers", CAUCE_GATEWAY=address)
    finally:
        by_wheel(python, tmp_path, "stop", "--dir", "service")
    by_clone(tmp_path, "sql", QUESTION, "--data", "data", "--out", "expected")
    assert answers(tmp_path / "answers") == answers(tmp_path / "expected") != {}


def test_every_command_has_its_help(python: Path, tmp_path: Path) -> None:
    code = (
        "import typer.main, typer.testing\n"
        "from cauce.cli.main import app\n"
        "def walk(group, words):\n"
        "    yield words\n"
        "    for name in getattr(group, 'commands', {}):\n"
        "        yield from walk(group.commands[name], [*words, name])\n"
        "for words in walk(typer.main.get_command(app), []):\n"
        "    done = typer.testing.CliRunner().invoke(app, [*words, '--help'])\n"
        "    assert done.exit_code == 0 and 'usage' in done.output.lower(), (words, done.output)\n"
        "    print(' '.join(words))\n"
    )
    shown = call([python, "-c", code], tmp_path).splitlines()
    assert {"run", "sql", "serve", "broker start", "completion"} <= set(shown)


def test_sql_gives_the_same_answer_on_every_level(python: Path, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text(SALES)
    by_clone(tmp_path, "sql", QUESTION, "--out", "expected")
    expected = answers(tmp_path / "expected")
    assert [text.decode().split() for text in expected.values()] == [
        ["shop,sales,total", "north,3,18.75", "south,1,3.00"]
    ]
    for level in supported_levels():
        by_wheel(python, tmp_path, "sql", QUESTION, "--out", level, CAUCE_PROCESSOR=level)
        assert answers(tmp_path / level) == expected, level


def test_demo_and_run_give_the_same_answers(python: Path, tmp_path: Path) -> None:
    by_wheel(python, tmp_path, "demo", "--scale", "0.0005", "--out", "wheel")
    by_clone(tmp_path, "demo", "--scale", "0.0005", "--out", "clone")
    assert answers(tmp_path / "wheel") == answers(tmp_path / "clone")
    (data,) = {path.parent for path in (tmp_path / "wheel").rglob("*.csv") if "book" in path.name.lower()}
    by_wheel(python, tmp_path, "run", "books", "--data", str(data), "--out", "again", "--workers", "2")
    by_clone(tmp_path, "run", "books", "--data", str(data), "--out", "expected", "--workers", "2")
    assert answers(tmp_path / "again") == answers(tmp_path / "expected") != {}


def answers(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.csv"))}


def test_the_wheel_has_kernels_for_every_level_and_a_bill_of_materials(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert {f"cauce/scan/native/compiled/{level.name}.so" for level in levels()} <= names
        (bill,) = [name for name in names if name.endswith(".dist-info/sboms/cauce.cdx.json")]
        listed = {each["name"] for each in json.loads(archive.read(bill))["components"]}
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.M)
    assert listed == set(pinned)


def test_the_wheel_needs_no_compiler(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        needed = re.findall(r"^Requires-Dist: (.*)$", archive.read(metadata).decode(), re.M)
    assert [each for each in needed if each.startswith(COMPILER) and "extra ==" not in each] == []


@pytest.mark.soak
def test_two_builds_give_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    assert build(tmp_path).read_bytes() == wheel.read_bytes()
