"""The archive of byte code: what it loads, and when the sources decide instead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

IMPORT = "import box.inner; print(box.inner.VALUE, type(box.inner.__spec__.loader).__name__)"


class Place:
    """A directory on the path with a package, and an archive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive = folder / "archives" / "modules-0.bin"
        self.archive.parent.mkdir()
        self.source = folder / "path" / "box" / "inner.py"
        self.source.parent.mkdir(parents=True)
        (self.source.parent / "__init__.py").write_text("")
        self.write(1)

    def write(self, value: int) -> None:
        self.source.write_text(f"VALUE = {value}\n")

    def run(self, code: str = IMPORT, *, write: bool = True) -> str:
        """What a process prints that uses the archive, and renews it if that is allowed."""
        program = (
            "import sys\nfrom importlib.machinery import PathFinder\nimport cauce.module_archive as used\n"
            f"used._MOST_MISSING = 0\narchive = used.Archive({str(self.archive)!r})\n"
            "sys.meta_path.insert(sys.meta_path.index(PathFinder), archive)\n"
            f"{code}\narchive.renew()\n"
        )
        environment = {**os.environ, "PYTHONPATH": f"{self.folder / 'path'}{os.pathsep}{os.environ['PYTHONPATH']}"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if not write:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(
            [sys.executable, "-P", "-c", program], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    import cauce

    monkeypatch.setenv("PYTHONPATH", str(Path(cauce.__file__).parents[1]))
    return Place(tmp_path)


def test_the_second_process_loads_from_the_archive(place: Place) -> None:
    assert place.run() == "1 SourceFileLoader"
    assert place.run() == "1 _Loader"


def test_a_changed_source_is_used(place: Place) -> None:
    place.run()
    place.write(22)
    assert place.run() == "22 SourceFileLoader"
    assert place.run() == "22 _Loader"


def test_a_source_of_the_same_size_and_another_time_is_used(place: Place) -> None:
    place.run()
    place.write(2)
    os.utime(place.source, ns=(1, 10**18))
    assert place.run() == "2 SourceFileLoader"


def test_a_module_that_became_a_package_is_used(place: Place) -> None:
    place.run()
    place.source.unlink()
    (place.source.with_suffix("")).mkdir()
    (place.source.with_suffix("") / "__init__.py").write_text("VALUE = 3\n")
    assert place.run() == "3 SourceFileLoader"


@pytest.mark.parametrize("kept", [0, 3, 20, 60])
def test_a_truncated_archive_is_ignored(place: Place, kept: int) -> None:
    place.run()
    place.archive.write_bytes(place.archive.read_bytes()[:kept])
    assert place.run() == "1 SourceFileLoader"
    assert place.run() == "1 _Loader"


def test_modules_of_an_archive_are_like_others(place: Place) -> None:
    shown = (
        "import box.inner, inspect, importlib.resources, importlib.util\n"
        "one = box.inner\n"
        "print(one.__file__, one.__cached__, one.__package__, one.__name__, list(box.__path__), box.__file__,\n"
        "      inspect.getsource(one), importlib.resources.files('box').joinpath('inner.py').read_text(),\n"
        "      importlib.util.find_spec('box.inner').origin)"
    )
    assert place.run(shown) == place.run(shown)


def test_nothing_is_written_where_python_may_not_write(place: Place) -> None:
    place.run(write=False)
    assert not place.archive.exists()


def test_a_directory_that_cannot_be_written_costs_nothing(place: Place) -> None:
    place.archive = place.folder / "missing" / "archive.bin"
    assert place.run() == "1 SourceFileLoader"


def test_only_the_newest_archives_stay(place: Place) -> None:
    for number in range(1, 9):
        old = place.archive.with_name(f"modules-{number}.bin")
        old.write_bytes(b"")
        os.utime(old, (number, number))
    other = place.archive.with_name("other.pyc")
    other.write_bytes(b"")
    place.run()
    names = sorted(each.name for each in place.archive.parent.iterdir())
    assert names == ["modules-0.bin", "modules-6.bin", "modules-7.bin", "modules-8.bin", "other.pyc"]


def test_there_is_no_archive_if_modules_may_come_from_the_current_directory(place: Place) -> None:
    code = "from cauce.module_archive import install; print(install())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=place.folder)
    assert done.stdout == "None\n"
