"""The datasets that a process may use: the built-in ones, and those of the files passed at its start.

A job names its dataset. A job can never make a process load a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cauce.datasets import BUILT_IN, load
from cauce.errors import CauceError, DatasetMissing, UsageError
from cauce.plan import Dataset

Stamp = tuple[int, int]
"""Modification time and size of a file."""

_BUILT_IN_STAMP: Stamp = (0, 0)


@dataclass(frozen=True)
class _Loaded:
    """A file as of its last load; without a dataset if it failed to load."""

    stamp: Stamp
    name: str
    dataset: Dataset | None


class Registry:
    """`files` are reloaded when they change. A file that fails to load keeps its last dataset name, or uses its file
    name until it is corrected."""

    def __init__(self, files: Iterable[Path | str] = (), built_in: Sequence[str] = BUILT_IN) -> None:
        self._built_in = tuple(built_in)
        self._files = tuple(dict.fromkeys(str(Path(file).resolve()) for file in files))
        self._loaded: dict[str, _Loaded] = {}

    def check(self) -> None:
        """Raises if a file is unusable or two datasets have the same name. Plans every query once, so that errors
        appear when the process starts and not in a client's job."""
        names = list(self._built_in)
        for file in self._files:
            dataset = load(file)
            dataset.plan()
            if dataset.name in names:
                raise _name_taken(file, dataset.name)
            names.append(dataset.name)

    def names(self) -> list[str]:
        return list(self._sources())

    def require(self, name: str) -> None:
        if name not in self._sources():
            raise DatasetMissing(f"this process has no dataset {name}: start it with --dataset FILE")

    def load(self, name: str) -> Dataset:
        """Raises DatasetMissing for an unknown name, and the errors of `cauce.datasets.load` for a broken file."""
        self.require(name)
        file = self._sources()[name]
        dataset = load(name) if file is None else self._loaded[file].dataset or load(file)
        if dataset.name != name:
            raise _name_taken(file or name, dataset.name)
        return dataset

    def stamp(self, name: str) -> Stamp:
        """Cache key for values derived from the dataset: changes when its file changes."""
        file = self._sources().get(name)
        return _BUILT_IN_STAMP if file is None else self._loaded[file].stamp

    @property
    def state(self) -> tuple[Stamp, ...]:
        """Changes whenever a dataset may have become available."""
        return tuple(map(_stamp, self._files))

    def _sources(self) -> dict[str, str | None]:
        """The file of each dataset, by name; None for a built-in dataset."""
        found: dict[str, str | None] = dict.fromkeys(self._built_in)
        for file in self._files:
            name = self._name(file)
            found[Path(file).name if name in found else name] = file
        return found

    def _name(self, file: str) -> str:
        known, now = self._loaded.get(file), _stamp(file)
        if known is not None and known.stamp == now:
            return known.name
        try:
            dataset = load(file)
            self._loaded[file] = _Loaded(now, dataset.name, dataset)
        except CauceError:
            self._loaded[file] = _Loaded(now, known.name if known is not None else self._name_of_file(file), None)
        return self._loaded[file].name

    def _name_of_file(self, file: str) -> str:
        path = Path(file)
        taken = (*self._built_in, *(each.name for each in self._loaded.values()))
        return path.name if path.stem in taken else path.stem


class RunRegistry(Registry):
    """For the workers of a run: every name resolves to the run's dataset, which the starting process passes on. The
    digest of the plan verifies that it is the right one."""

    def __init__(self, dataset: str) -> None:
        """`dataset` is a name or path for `cauce.datasets.load`."""
        super().__init__((), ())
        self._dataset = dataset

    def require(self, name: str) -> None:
        pass

    def load(self, name: str) -> Dataset:
        return load(self._dataset)


def _name_taken(file: str, name: str) -> UsageError:
    return UsageError(f"{file} declares a dataset {name}, but another dataset has that name; rename one of them")


def _stamp(file: str) -> Stamp:
    path = Path(file)
    try:
        found = [each.stat() for each in (sorted(path.iterdir()) if path.is_dir() else [path])]
    except OSError:
        return 0, 0
    return max((each.st_mtime_ns for each in found), default=0), sum(each.st_size for each in found)
