"""Imports in the package only point downwards."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import cauce

LAYERS = (
    "cli",
    "lab",
    "mcp",
    "service",
    "terminal",
    "gateway",
    "client",
    "runner",
    "doctor",
    "worker",
    "job",
    "fabric",
    "datasets",
    "sql_frontend",
    "schema",
    "plan",
    "operators",
    "scan",
    "api",
    "process",
    "errors",
    "lazy_dataclasses",
    "light_imports",
    "module_archive",
)
"""From top to bottom: a layer may import itself and those below it."""

INNER_LAYERS = {
    "gateway": (
        "process",
        "http",
        "dashboard",
        "asgi",
        "status_polling",
        "worker_availability",
        "redaction",
        "service",
        "pool",
        "metrics",
        "tokens",
        "settings",
        "kept",
        "jobs",
        "model",
        "limits",
        "errors",
        "public_text",
    ),
    "doctor": (
        "process",
        "json_bodies",
        "control",
        "fabric_io",
        "supervision",
        "bind",
        "heartbeat",
        "query",
        "launch",
        "election",
        "messaging",
        "model",
    ),
    "fabric": (
        "private_namespace",
        "factory",
        "memory",
        "rabbitmq",
        "files",
        "contract",
        "position",
        "records",
        "address",
        "names",
        "versions",
        "checksum",
    ),
    "fabric/rabbitmq": (
        "fabric",
        "garbage_collection",
        "logs",
        "task_queue",
        "session",
        "registry_client",
        "capability_probe",
        "lease",
        "queues",
        "streams",
        "connection",
        "settings",
        "registry",
    ),
}
"""The same within these directories: their modules and packages, from top to bottom."""

MOST_MODULES = 15
"""Maximum number of modules in a directory, without its `__init__.py`."""

PACKAGE = Path(cauce.__file__).parent
ANYTHING = ("__init__.py", "__main__.py")
"""Entry modules of the package, which may import every layer."""


def imported(code: str, module: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """All imports of this package in a module's code, with their lines. `module` is its dotted path as a tuple."""
    for node in ast.walk(ast.parse(code)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(module[: len(module) - node.level]) if node.level else ""
            start = ".".join(part for part in (base, node.module) if part)
            names = [f"{start}.{alias.name}" for alias in node.names]
        for name in names:
            top, *rest = name.split(".")
            if top == "cauce":
                yield getattr(node, "lineno", 0), tuple(rest)


def violations(code: str, path: str, folder: str = "", layers: tuple[str, ...] = LAYERS) -> list[str]:
    """Imports of a file, given by its path below the package, from layers above its own."""
    module = ("cauce", *Path(path).with_suffix("").parts)
    within = tuple(part for part in folder.split("/") if part)
    own = layers.index(module[1 + len(within)])
    found = []
    for line, name in imported(code, module):
        layer = name[len(within)] if name[: len(within)] == within and len(name) > len(within) else ""
        if layer in layers and layers.index(layer) < own:
            found.append(f"{path}:{line} imports {'/'.join((*within, layer))}")
    return found


def files() -> list[str]:
    paths = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    return sorted(path for path in paths if path not in ANYTHING)


@pytest.mark.parametrize("path", files())
def test_imports_point_downwards(path: str) -> None:
    assert violations((PACKAGE / path).read_text(encoding="utf-8"), path) == []


def files_within(folder: str) -> list[str]:
    return [path for path in files() if path.startswith(f"{folder}/") and path != f"{folder}/__init__.py"]


@pytest.mark.parametrize("folder", INNER_LAYERS)
def test_imports_within_a_directory_point_downwards(folder: str) -> None:
    layers = INNER_LAYERS[folder]
    found = [
        violations((PACKAGE / path).read_text(encoding="utf-8"), path, folder, layers) for path in files_within(folder)
    ]
    assert not [each for of_file in found for each in of_file]


@pytest.mark.parametrize("folder", INNER_LAYERS)
def test_every_entry_of_an_ordered_directory_has_a_layer(folder: str) -> None:
    names = {Path(path).relative_to(folder).parts[0].removesuffix(".py") for path in files_within(folder)}
    assert names == set(INNER_LAYERS[folder])


def test_every_folder_and_file_of_the_package_has_a_layer() -> None:
    assert {Path(path).parts[0].removesuffix(".py") for path in files()} == set(LAYERS)


def test_no_directory_has_too_many_modules() -> None:
    sizes = Counter(str(Path(path).parent) for path in files() if Path(path).name != "__init__.py")
    assert {folder: count for folder, count in sizes.items() if count > MOST_MODULES} == {}


def test_every_directory_states_its_duty() -> None:
    folders = {Path(path).parent for path in files()} - {Path()}
    silent = [
        str(folder)
        for folder in folders
        if not ast.get_docstring(ast.parse((PACKAGE / folder / "__init__.py").read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_upward_import_within_a_directory_is_detected() -> None:
    code = "from cauce.gateway.http.app import Gateway"
    found = violations(code, "gateway/jobs/uploads.py", "gateway", INNER_LAYERS["gateway"])
    assert found == ["gateway/jobs/uploads.py:1 imports gateway/http"]


@pytest.mark.parametrize(
    "code",
    [
        "import cauce.runner.sinks",
        "import os, cauce.worker",
        "from cauce.runner.sinks import prepare",
        "from cauce import worker",
        "from ..worker import job",
        "from .. import worker",
        "def later():\n    from cauce.worker import job",
        "if TYPE_CHECKING:\n    from cauce.worker import job",
    ],
)
def test_upward_import_is_detected(code: str) -> None:
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
def test_downward_import_is_allowed(code: str) -> None:
    assert violations(code, "plan/planner.py") == []


def test_a_relative_import_in_a_package_file_is_followed() -> None:
    assert violations("from ..worker import job", "plan/__init__.py") == ["plan/__init__.py:1 imports worker"]
