"""The built-in datasets, and the loading of a user's own."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

from cauce.errors import PlanError, UnknownName, unknown
from cauce.plan import Dataset
from cauce.plan.mistakes import located

BUILT_IN = ("books", "movies", "flights", "coffee")


def load(name: str) -> Dataset:
    """A built-in dataset by name, or a user's own by the path of its Python file."""
    if name in BUILT_IN:
        return _dataset_of(importlib.import_module(f"cauce.datasets.{name}"), name)
    if not name.endswith(".py"):
        raise unknown("dataset", name, BUILT_IN, "or give the path of a .py file")
    path = Path(name)
    if not path.is_file():
        raise UnknownName(f"file {path} does not exist; a dataset of your own is one Python file")
    spec = importlib.util.spec_from_file_location(f"cauce_dataset_{path.stem}", path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:  # noqa: BLE001
        raise located(problem, str(path.resolve())) from None
    return _dataset_of(module, name)


def _dataset_of(module: ModuleType, name: str) -> Dataset:
    dataset = getattr(module, "dataset", None)
    if not isinstance(dataset, Dataset):
        others = [each for each, value in vars(module).items() if isinstance(value, Dataset)]
        hint = f"; rename {others[0]} to dataset" if others else ""
        raise PlanError(f"{name} declares no dataset: assign a Dataset to the name dataset{hint}")
    if dataset.source is None:
        dataset.source = Path(str(getattr(module, "__file__", name)))
    if not dataset.queries:
        raise PlanError(f"{name} declares no queries: decorate functions with @dataset.query(...)")
    return dataset


def name_of(dataset: Dataset) -> str:
    """What `load` takes to give this dataset again, in any process of this machine."""
    if dataset.name in BUILT_IN or dataset.source is None:
        return dataset.name
    return str(dataset.source.resolve())
