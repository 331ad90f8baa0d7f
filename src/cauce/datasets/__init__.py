"""The built-in datasets, and the loading of user datasets from Python files."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from cauce.errors import PlanError, UnknownName, unknown
from cauce.plan import Dataset
from cauce.plan.checks.mistakes import located

BUILT_IN = ("books", "movies", "flights", "coffee")


class _SourceLoader(SourceFileLoader):
    """Compiles the source on every load: writes no `__pycache__` beside a user's file and never reads a stale one."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def load(name: str) -> Dataset:
    """Loads a built-in dataset by name, or a user's dataset by the path of its Python file or of its folder of SQL."""
    if name in BUILT_IN:
        return _dataset_of(importlib.import_module(f"cauce.datasets.{name}"), name)
    path = Path(name)
    if path.is_dir():
        return _load_folder(path)
    if not name.endswith(".py"):
        raise unknown("dataset", name, BUILT_IN, "or give the path of a .py file, or of a folder with a schema.toml")
    if not path.is_file():
        raise UnknownName(f"file {path} does not exist; a dataset of your own is one Python file")
    module_name = f"cauce_dataset_{path.stem}"
    loader = _SourceLoader(module_name, str(path.absolute()))
    spec = importlib.util.spec_from_file_location(module_name, path.absolute(), loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    try:
        with _loading(path):
            loader.exec_module(module)
    except (Exception, SystemExit) as problem:  # noqa: BLE001
        raise located(problem, str(path.absolute())) from None
    return _dataset_of(module, name)


def _load_folder(path: Path) -> Dataset:
    # Imported only for such datasets: the parser takes a tenth of a second.
    from cauce.datasets.sql_folder import SCHEMA, is_sql_folder, load_sql_folder

    if not is_sql_folder(path):
        raise UnknownName(
            f"{path} is a folder without {SCHEMA}: write one with `cauce schema DIR > {path / SCHEMA}`, beside files "
            "such as top_customers.sql"
        )
    return load_sql_folder(path)


_being_loaded: list[Path] = []


@contextmanager
def _loading(path: Path) -> Iterator[None]:
    _being_loaded.append(path)
    try:
        yield
    finally:
        _being_loaded.pop()


def refuse_while_loading(call: str) -> None:
    """Raises if a dataset file starts a run while it is loaded: every worker that loads it would start another run."""
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
    """The argument with which `load` returns this dataset in any process of this machine."""
    if dataset.source is None or is_built_in(dataset):
        return dataset.name
    return str(dataset.source.resolve())


def is_built_in(dataset: Dataset) -> bool:
    """Compares the object, not the name: a user's dataset may have the name of a built-in one."""
    own_file = Path(__file__).with_name(f"{dataset.name}.py")
    return dataset.name in BUILT_IN and (dataset.source is None or dataset.source.resolve() == own_file.resolve())
