"""Files that services around the repository read: templates, the workflow, versions, locks."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import cauce

ROOT = Path(__file__).parents[1]
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))
WORKFLOW = ROOT / ".github/workflows/ci.yml"


def validate(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_issue_forms_are_valid() -> None:
    done = validate("vendor.github-issue-forms", *FORMS)
    assert (done.returncode, [path.stem for path in FORMS]) == (0, ["bug", "feature"]), done.stdout


def test_workflow_is_valid_and_calls_the_script() -> None:
    done = validate("vendor.github-workflows", WORKFLOW)
    assert done.returncode == 0, done.stdout
    (job,) = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"].values()
    assert job["steps"][-1] == {"run": ".ci/run"}


def test_actions_have_a_major_version() -> None:
    used = re.findall(r"uses: (\S+)", WORKFLOW.read_text(encoding="utf-8"))
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@v\d+", action)] == []


def test_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    released = re.findall(r"^## \[(\d.*?)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert (cauce.__version__, released[0]) == (project["version"], project["version"])


@pytest.mark.parametrize("lock", sorted(ROOT.glob("requirements*.lock")), ids=lambda path: path.name)
def test_locks_have_versions_and_hashes_only(lock: Path) -> None:
    pinned = r"[\w.-]+==[\w.]+( ; [^\\]+?)? \\"
    hashed = r"    --hash=sha256:[0-9a-f]{64}( \\)?"
    lines = lock.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(f"{pinned}|{hashed}", line)] == []


@pytest.mark.parametrize("extra", ["docs", "notebook"])
def test_tools_with_an_environment_of_their_own_have_a_lock_of_their_own(extra: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for each in extras[extra]:
        name = re.split(r"[^\w-]", each)[0]
        assert f"\n{name}==" in (ROOT / f"requirements-{extra}.lock").read_text(encoding="utf-8")
        assert f"\n{name}==" not in (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
