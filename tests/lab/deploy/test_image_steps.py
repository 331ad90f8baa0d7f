"""Every step of both Dockerfiles, run in directories with a Debian system: the one of the project, and the one that
`cauce deploy` writes. The last stage then answers a question and starts a service as its own user.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cauce import __version__
from cauce.scan.native.processor import supported_levels
from tests.lab.deploy.dockerfile import Stage, Unable, run_dockerfile
from tests.lab.deploy.reading import Written

ROOT = Path(__file__).parents[3]
CACHE = ROOT / ".cache/image"
SERVICE = """
{cauce} serve --dir /var/lib/cauce/service --port 0 --workers 1 --gateways 1 --doctors 1 --detach &&
{cauce} status --dir /var/lib/cauce/service && {cauce} stop --dir /var/lib/cauce/service
"""
COMPILER = "from importlib.util import find_spec; print(find_spec('numba') is not None)"


def built(context: Path, work: Path) -> Stage:
    try:
        return run_dockerfile(context, CACHE, work)
    except Unable as reason:
        pytest.skip(str(reason))


def check(stage: Stage) -> None:
    assert stage.user == "10001:10001"
    shown = stage.run([*stage.entry, "--version"])
    assert (shown.stdout, shown.returncode) == (f"cauce {__version__}\n", 0), shown.stderr
    (stage.root / "tmp/sales.csv").write_text("shop,amount\nnorth,1.5\nsouth,2\nnorth,3\n")
    question = "SELECT shop, sum(amount) AS total FROM sales GROUP BY shop ORDER BY shop"
    answered = stage.run([*stage.entry, "sql", question, "--data", "/tmp", "--out", "/tmp/answers"])
    assert answered.returncode == 0, answered.stderr
    (answer,) = (stage.root / "tmp/answers").glob("*.csv")
    assert answer.read_text().splitlines() == ["shop,total", "north,4.5", "south,2.0"]
    started = stage.run(["/bin/sh", "-c", SERVICE.format(cauce=" ".join(stage.entry))])
    assert started.returncode == 0, started.stdout + started.stderr
    assert "Cauce is ready on http://127.0.0.1:" in started.stdout
    for probe in ("cauce-alive", "cauce-wait"):
        assert stage.run(["test", "-x", f"/usr/local/bin/{probe}"]).returncode == 0


@pytest.mark.soak
@pytest.mark.skipif(not supported_levels(), reason="wheels are not built for this processor")
def test_steps_of_the_project(tmp_path: Path) -> None:
    stage = built(ROOT, tmp_path)
    check(stage)
    assert stage.run(["python", "-c", COMPILER]).stdout.strip() == "False"
    shutil.rmtree(tmp_path)


@pytest.mark.soak
def test_steps_of_a_deployment(compose: Written, tmp_path: Path) -> None:
    check(built(compose.folder / "image", tmp_path))
    shutil.rmtree(tmp_path)
