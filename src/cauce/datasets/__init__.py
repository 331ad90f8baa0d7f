"""The built-in datasets, and the loading of a user's own."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
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
    spec = importlib.util.spec_from_file_location(f"cauce_dataset_{path.stem}", path.absolute())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        with _loading(path):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:  # noqa: BLE001
        raise located(problem, str(path.absolute())) from None
    return _dataset_of(module, name)


_being_loaded: list[Path] = []


@contextmanager
def _loading(path: Path) -> Iterator[None]:
    _being_loaded.append(path)
    try:
        yield
    finally:
        _being_loaded.pop()


def refuse_while_loading(call: str) -> None:
    """Raises in a dataset file that runs itself: every worker that loads the file would start another run."""
    if _being_loaded:
        raise PlanError(
            f'{call} is called while the file is loaded as a dataset: put the call under `if __name__ == "__main__":`'
        )


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
    if dataset.source is None or is_built_in(dataset):
        return dataset.name
    return str(dataset.source.resolve())


def is_built_in(dataset: Dataset) -> bool:
    """A user's own dataset may have the name of a built-in one."""
    own_file = Path(__file__).with_name(f"{dataset.name}.py")
    return dataset.name in BUILT_IN and (dataset.source is None or dataset.source.resolve() == own_file.resolve())
