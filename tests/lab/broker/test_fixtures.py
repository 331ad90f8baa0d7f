"""The fixtures of RabbitMQ nodes on a machine without RabbitMQ."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEST = "def test_of_a_broker(broker):\n    assert broker.answers('r1')\n"


def outcome(folder: Path, *, ci: bool) -> tuple[int, str]:
    """Of a test that needs a broker, on a machine without one."""
    (folder / "test_it.py").write_text(TEST)
    environment = {
        **os.environ,
        "PATH": str(folder),
        "CAUCE_CACHE": str(folder),
        "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
    }
    environment.pop("CI", None)
    environment.pop("CAUCE_RABBITMQ_VERSION", None)
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.brokers",
        "test_it.py",
    ]
    done = subprocess.run(
        command, cwd=folder, env=environment | ({"CI": "true"} if ci else {}), stdout=subprocess.PIPE, check=False
    )
    return done.returncode, done.stdout.decode()


def test_without_rabbitmq_tests_are_skipped_with_a_reason(tmp_path: Path) -> None:
    code, output = outcome(tmp_path, ci=False)
    assert code == pytest.ExitCode.OK
    assert "1 skipped" in output
    assert "RabbitMQ is not installed" in output


def test_in_continuous_integration_they_fail(tmp_path: Path) -> None:
    code, output = outcome(tmp_path, ci=True)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "1 error" in output
    assert "RabbitMQ is not installed" in output
