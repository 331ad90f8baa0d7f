"""The notebook in examples/: its code runs from top to bottom and shows tables, in a plain interpreter, and in a kernel
of the Jupyter that `scripts/notebook.sh` installs."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT

NOTEBOOK = ROOT / "examples/tour.ipynb"
TIMEOUT_S = 300
NOT_INSTALLED = 3
"""Exit code of the script if JupyterLab cannot be installed."""

RUNNER = """
import ast, json, sys
namespace, shown = {"__name__": "__main__"}, []
for source in json.load(sys.stdin):
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), namespace)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace) if last else None
    shown.append(value._repr_html_() if value is not None else "")
json.dump(shown, sys.stdout)
"""


def cells(kind: str) -> dict[str, str]:
    notebook: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return {each["id"]: "".join(each["source"]) for each in notebook["cells"] if each["cell_type"] == kind}


@pytest.mark.slow
@pytest.mark.parametrize("folder", [ROOT, ROOT / "examples"], ids=["project", "examples"])
def test_every_cell_runs_and_shows_its_answer(folder: Path) -> None:
    code = cells("code")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUNNER], input=json.dumps(list(code.values())), cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, timeout=TIMEOUT_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = dict(zip(code, json.loads(done.stdout), strict=True))
    assert "best_sellers" in shown["sql"]
    assert "reject" in shown["sql"]
    assert "Teapot" in shown["frames"]
    assert shown["dataset"].count("<table") == 3


@pytest.mark.soak
def test_it_runs_in_a_kernel_of_jupyter(tmp_path: Path) -> None:
    command = [ROOT / "scripts/notebook.sh", "nbconvert", "--execute", "--to", "notebook", "--stdout", NOTEBOOK]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode == NOT_INSTALLED:
        pytest.skip(f"JupyterLab cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    executed = json.loads(done.stdout)["cells"]
    shown = {each["id"]: each["outputs"] for each in executed if each["cell_type"] == "code"}
    assert "best_sellers" in json.dumps(shown["sql"])
    assert "text/html" in json.dumps(shown["dataset"])


def test_it_is_stored_without_outputs() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    assert [(each["outputs"], each["execution_count"]) for each in code] == [([], None)] * len(code)
    for each in code:
        ast.parse("".join(each["source"]))


def test_its_links_have_targets() -> None:
    links = re.findall(r"\]\(([^)#]+)", "\n".join(cells("markdown").values()))
    assert links
    assert [link for link in links if not (NOTEBOOK.parent / link).is_file()] == []
