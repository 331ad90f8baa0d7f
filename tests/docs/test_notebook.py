"""The notebook in examples/: its code runs from top to bottom and shows tables, in a kernel of Jupyter if there is one.

A kernel is not among the locked packages; without one the cells run in a plain interpreter, which draws no progress.
"""

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


@pytest.mark.slow
def test_it_runs_in_a_kernel_of_jupyter() -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=TIMEOUT_S, resources={"metadata": {"path": str(ROOT)}}).execute()
    shown = {each["id"]: each["outputs"] for each in notebook.cells if each["cell_type"] == "code"}
    assert "best_sellers" in json.dumps(shown["sql"])


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
