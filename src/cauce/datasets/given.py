"""The dataset that a Python program passes: a name, the path of a file, a Dataset object, or a module with one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from cauce.datasets import load, name_of
from cauce.errors import CauceError, PlanError, UsageError
from cauce.plan import Dataset


def dataset_of(given: object) -> Dataset:
    """The dataset for the argument. Raises UsageError if it is not a dataset."""
    if isinstance(given, ModuleType):
        given = getattr(given, "dataset", None)
    if isinstance(given, Dataset):
        return _checked(given)
    if not isinstance(given, str | Path):
        raise UsageError(
            f"dataset must be a name such as 'books', the path of a Python file, or a Dataset, not {_kind(given)}"
        )
    return _of_main_script(Path(given)) or load(str(given))


def _checked(dataset: Dataset) -> Dataset:
    if not dataset.queries:
        raise PlanError(f"dataset {dataset.name} has no queries: decorate functions with @dataset.query(...)")
    if dataset.source is None:
        dataset.source = _module_file(dataset)
    elif not Path(dataset.source).exists():
        raise PlanError(
            f"source of dataset {dataset.name} is {dataset.source}, which does not exist: "
            "set it to Path(__file__), or leave it out"
        )
    return dataset


def _module_file(dataset: Dataset) -> Path | None:
    """The file of the imported module whose attribute `dataset` is this dataset."""
    for query in dataset.queries.values():
        module = sys.modules.get(query.declare.__module__)
        file = getattr(module, "__file__", None)
        if getattr(module, "dataset", None) is dataset and file is not None:
            return Path(file)
    return None


def _of_main_script(path: Path) -> Dataset | None:
    """The dataset of the running script if `path` is that script: loading the file would run it again."""
    dataset = getattr(sys.modules.get("__main__"), "dataset", None)
    return dataset if isinstance(dataset, Dataset) and _is_main_script(path) else None


def _is_main_script(path: Path) -> bool:
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return main is not None and path.resolve() == Path(main).resolve()


def other_processes_can_load(dataset: Dataset, digest: str, *plan_arguments: object) -> bool:
    """Whether loading this dataset by name yields a plan with this digest. `plan_arguments` are passed to `plan`.

    False for a dataset of the running script or of a notebook, or one created by a function.
    """
    if dataset.source is None or _is_main_script(dataset.source):
        return False
    try:
        return load(name_of(dataset)).plan(*plan_arguments).digest == digest  # type: ignore[arg-type]
    except CauceError:
        return False


def _kind(given: object) -> str:
    return "None" if given is None else type(given).__name__
