"""Imports in the package only point downwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cauce

LAYERS = (
    "cli",
    "gateway",
    "chaos",
    "client",
    "doctor",
    "worker",
    "fabric",
    "wire",
    "datasets",
    "plan",
    "operators",
    "sentiment",
    "scan",
    "native",
    "deploy",
    "broker",
    "web",
    "errors",
)
"""From top to bottom: a layer may import itself and those below it."""

PACKAGE = Path(cauce.__file__).parent
ANYTHING = ("__init__.py", "__main__.py")
"""The package's own doors, which open onto every layer."""


def imported(code: str, module: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The layers that a module's code imports, with their lines. `module` is the package's path to it."""
    for node in ast.walk(ast.parse(code)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(module[: len(module) - node.level]) if node.level else ""
            start = ".".join(part for part in (base, node.module) if part)
            names = [f"{start}.{alias.name}" for alias in node.names]
        for name in names:
            top, _, rest = name.partition(".")
            layer = rest.partition(".")[0]
            if top == "cauce" and layer in LAYERS:
                yield getattr(node, "lineno", 0), layer


def violations(code: str, path: str) -> list[str]:
    """What a file, given by its path below the package, imports from above it."""
    module = ("cauce", *Path(path).with_suffix("").parts)
    own = LAYERS.index(module[1])
    return [f"{path}:{line} imports {layer}" for line, layer in imported(code, module) if LAYERS.index(layer) < own]


def files() -> list[str]:
    paths = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    return sorted(path for path in paths if path not in ANYTHING)


@pytest.mark.parametrize("path", files())
def test_imports_point_downwards(path: str) -> None:
    assert violations((PACKAGE / path).read_text(encoding="utf-8"), path) == []


def test_every_folder_and_file_of_the_package_has_a_layer() -> None:
    assert {Path(path).parts[0].removesuffix(".py") for path in files()} <= set(LAYERS)


@pytest.mark.parametrize(
    "code",
    [
        "import cauce.worker.job",
        "import os, cauce.worker",
        "from cauce.worker.job import prepare",
        "from cauce import worker",
        "from ..worker import job",
        "from .. import worker",
        "def later():\n    from cauce.worker import job",
        "if TYPE_CHECKING:\n    from cauce.worker import job",
    ],
)
def test_an_import_that_points_upwards_is_found(code: str) -> None:
    assert len(violations(code, "plan/planner.py")) == 1


@pytest.mark.parametrize(
    "code",
    [
        "import cauce",
        "from cauce import __version__",
        "from cauce.plan import nodes",
        "from . import nodes",
        "from cauce.operators.order import desc",
        "import worker",
        "from cauceworker import job",
    ],
)
def test_an_import_that_points_downwards_is_none(code: str) -> None:
    assert violations(code, "plan/planner.py") == []


def test_a_relative_import_in_a_package_file_is_followed() -> None:
    assert violations("from ..worker import job", "plan/__init__.py") == ["plan/__init__.py:1 imports worker"]
