"""`cauce.run`: the answers as frames, for those who have Python before them and not a shell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType

import polars as pl
import psutil
import pytest

import cauce
from cauce.datasets import load
from cauce.errors import DataNotFound, PlanError, UnknownName, UsageError
from cauce.runner import library
from cauce.runner.in_process import LITTLE_BYTES
from cauce.terminal import notebook
from tests.cli.running import small_books
from tests.cli.visits import DECLARATION, LARGE, expected_regulars, write_visits
from tests.terminal.terminal import run_in_terminal


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A dataset file; its data are in the folder `small` beside it."""
    write_visits(tmp_path / "small")
    (tmp_path / "visits.py").write_text(DECLARATION)
    return tmp_path / "visits.py"


def test_an_answer_is_a_frame(tmp_path: Path) -> None:
    small_books(tmp_path)
    answers = cauce.run("books", tmp_path)
    assert list(answers) == ["q1", "q2", "q3", "q4", "q5"]
    assert answers["q3"].equals(pl.DataFrame({"title": ["T"], "authors": [["A", "B"]], "reviews": [500]}))
    assert answers.rejects.rows() == [("books_data.csv", 4, "authors", "not a list of texts", "nobody")]
    assert answers.questions["q3"] == "Books of the 1990s with at least 500 reviews"


def test_queries_partitions_and_parameters_can_be_chosen(tmp_path: Path) -> None:
    small_books(tmp_path)
    answers = cauce.run("books", str(tmp_path), ["q5", "q4"], partitions=3, workers=1, sentiment="textblob")
    assert list(answers) == ["q4", "q5"]
    assert answers["q4"].rows() == [("T", 4.0)]
    assert answers["q5"].is_empty()


@pytest.mark.parametrize(("queries", "answered"), [("q4", ["q4"]), ("q1, q4", ["q1", "q4"]), (("q4",), ["q4"])])
def test_queries_may_be_one_text(tmp_path: Path, queries: str, answered: list[str]) -> None:
    small_books(tmp_path)
    assert list(cauce.run("books", tmp_path, queries)) == answered


def test_a_dataset_may_be_a_path_an_object_or_a_module(visits: Path) -> None:
    module = ModuleType("visits")
    dataset = load(str(visits))
    module.dataset = dataset  # type: ignore[attr-defined]
    for given in (visits, str(visits), dataset, module):
        answers = cauce.run(given, visits.with_name("small"))  # type: ignore[arg-type]
        assert answers["regulars"].rows() == expected_regulars()


def test_without_rejects_their_frame_is_empty(tmp_path: Path) -> None:
    small_books(tmp_path)
    assert cauce.run("books", tmp_path, ["q5"]).rejects.is_empty()


def test_wrong_requests_raise(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="q9"):
        cauce.run("books", tmp_path, ["q9"])
    with pytest.raises(DataNotFound, match=r"books_data\.csv"):
        cauce.run("books", tmp_path)


def test_an_unknown_query_names_the_nearest(visits: Path) -> None:
    with pytest.raises(
        UnknownName,
        match=r"unknown query of visits: regular; did you mean regulars\? expected one of regulars, visitors",
    ):
        cauce.run(visits, visits.with_name("small"), "regular")


def test_a_wrong_folder_names_the_nearest(visits: Path) -> None:
    with pytest.raises(DataNotFound, match=r"smal does not exist; .*; did you mean small"):
        cauce.run(visits, visits.with_name("smal"))


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"workers": 0}, "workers must be a whole number from 1 to 256, or None for the number of cores, not 0"),
        ({"workers": "2"}, "workers must be a whole number"),
        ({"workers": True}, "workers must be a whole number"),
        ({"partitions": 1.5}, "partitions must be a whole number from 1 to 4096"),
        ({"queries": 3}, "queries must be a name, a list of names, or None for all, not 3"),
        ({"queries": [1]}, "queries must be a name"),
        ({"queries": []}, "queries is an empty list"),
        ({"progress": "yes"}, "progress must be True, False or None, not 'yes'"),
        ({"data": None}, "data must be the path of a folder, as a str or a Path, not None"),
        ({"data": ""}, "data is empty"),
        ({"data": ["data"]}, "data must be the path of a folder"),
        ({"dataset": 5}, "dataset must be a name such as 'books', the path of a Python file, or a Dataset, not int"),
        ({"dataset": None}, "dataset must be a name such as .*, not None"),
        ({"dataset": os}, "dataset must be a name"),
        ({"sentiment": 1}, "parameter sentiment must be a text, such as sentiment='1', not 1"),
        ({"sentimant": "vader"}, r"unknown parameter of books: sentimant; did you mean sentiment\?"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(tmp_path: Path, named: dict[str, object], message: str) -> None:
    small_books(tmp_path)
    with pytest.raises(UsageError, match=message):
        cauce.run(**{"dataset": "books", "data": tmp_path, **named})  # type: ignore[arg-type]


def test_a_source_that_does_not_exist_is_refused(visits: Path) -> None:
    dataset = load(str(visits))
    dataset.source = Path("gone.py")
    with pytest.raises(PlanError, match=r"gone\.py, which does not exist"):
        cauce.run(dataset, visits.with_name("small"))


def test_a_dataset_file_that_runs_itself_is_refused(visits: Path) -> None:
    visits.write_text(f"{DECLARATION}\nimport cauce\ncauce.run(dataset, 'small')\n")
    with pytest.raises(PlanError, match=r"visits\.py, line 21: cauce\.run is called while .*if __name__ =="):
        cauce.run(visits, visits.with_name("small"))


def run_script(folder: Path, code: str, name: str = "script.py") -> subprocess.CompletedProcess[str]:
    """A program of its own whose temporary files are in `folder`/tmp."""
    (folder / name).write_text(code)
    (folder / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    command = [sys.executable, name]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def own_dataset(dataset: str, data: Path) -> str:
    """A script that declares a dataset and runs it, without `if __name__ == "__main__"`."""
    call = f"cauce.run({dataset}, {str(data)!r}, 'regulars')"
    return f"{DECLARATION}\nimport cauce\nprint({call}['regulars'].rows())\n"


@pytest.mark.parametrize("dataset", ["dataset", "__file__"])
def test_a_script_without_a_guard_runs_its_own_dataset(tmp_path: Path, dataset: str) -> None:
    write_visits(tmp_path / "small")
    done = run_script(tmp_path, own_dataset(dataset, tmp_path / "small"))
    assert done.stdout == f"{expected_regulars()}\n", done.stderr
    assert done.stderr == ""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_visits(tmp_path_factory.mktemp("visits") / "large", LARGE)
    assert (folder / "visits.csv").stat().st_size > LITTLE_BYTES
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["dataset", "__file__"])
def test_a_script_without_a_guard_runs_its_own_dataset_over_large_files(
    tmp_path: Path, large: Path, dataset: str
) -> None:
    done = run_script(tmp_path, own_dataset(dataset, large))
    assert done.stdout == f"{expected_regulars(LARGE)}\n", done.stderr
    assert "save the dataset as a Python file and pass its path" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.slow
def test_an_imported_dataset_is_run_by_worker_processes(visits: Path, large: Path) -> None:
    """Output of the file in workers does not disturb the run."""
    visits.write_text(f"print('loaded', __name__)\n{DECLARATION}")
    code = f"import visits, cauce\nprint(cauce.run(visits, {str(large)!r}, workers=2)['regulars'].rows())\n"
    done = run_script(visits.parent, code)
    assert done.stdout.splitlines()[-1] == str(expected_regulars(LARGE)), done.stderr
    # Two workers may print at the same time.
    assert (done.stderr.count("loaded"), done.stderr.count("cauce_dataset_visits")) == (2, 2)
    assert "Warning" not in done.stderr
    assert list((visits.parent / "tmp").iterdir()) == []


@pytest.mark.slow
def test_a_dataset_that_a_function_makes_is_run_in_this_process(visits: Path, large: Path) -> None:
    """Its file declares another one under the name `dataset`: workers must not load that instead."""
    dataset = load(str(visits))
    other = visits.with_name("other.py")
    other.write_text(DECLARATION.replace('Integer(), "paid"', 'Integer(), "gone"'))
    dataset.source = other
    with pytest.warns(UserWarning, match="worker processes cannot load it"):
        assert cauce.run(dataset, large)["regulars"].rows() == expected_regulars(LARGE)


@pytest.mark.slow
def test_an_interrupt_leaves_nothing_behind(visits: Path, large: Path) -> None:
    """Ctrl-C goes to the whole process group, as in a terminal; workers are at work by then."""
    (visits.parent / "tmp").mkdir()
    code = f"import cauce\ncauce.run('visits.py', {str(large)!r}, workers=2)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=visits.parent,
        env={**os.environ, "TMPDIR": str(visits.parent / "tmp")},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    seen: set[psutil.Process] = set()
    while len(seen) < 3 and process.poll() is None:
        seen |= set(psutil.Process(process.pid).children(recursive=True))
    os.killpg(process.pid, signal.SIGINT)
    _, output = process.communicate(timeout=60)
    assert len(seen) >= 3, output
    assert process.returncode == -signal.SIGINT
    assert output.rstrip().endswith("KeyboardInterrupt")
    assert output.count("Traceback") == 1
    assert [each for each in seen if is_alive(each)] == []
    assert list((visits.parent / "tmp").iterdir()) == []


def is_alive(process: psutil.Process) -> bool:
    """A zombie has exited; its new parent may not have reaped it yet."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class _Display:
    """Keeps what a cell showed; stands in for IPython's display handle."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def __call__(self, html: str, *, display_id: bool) -> _Display:
        assert display_id
        self.update(html)
        return self

    def update(self, html: str) -> None:
        self.shown.append(html)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> _Display:
    """A kernel runs: the modules of IPython as far as they are used."""
    display = _Display()
    shell = type("ZMQInteractiveShell", (), {"kernel": object()})()
    ipython, module = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    module.HTML = str  # type: ignore[attr-defined]
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(notebook, "REDRAW_S", 0.0)
    return display


def test_a_notebook_shows_progress_and_clears_it(visits: Path, cell: _Display) -> None:
    cauce.run(visits, visits.with_name("small"))
    assert "<progress value='0'" in cell.shown[0]
    assert "1,000 rows" in cell.shown[-2]
    assert cell.shown[-1] == ""


def test_a_notebook_clears_progress_when_a_run_fails(
    visits: Path, cell: _Display, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(library, "run_for_answers", fail)
    with pytest.raises(KeyboardInterrupt):
        cauce.run(visits, visits.with_name("small"))
    assert cell.shown[-1] == ""


def test_progress_can_be_switched_off(visits: Path, cell: _Display) -> None:
    cauce.run(visits, visits.with_name("small"), progress=False)
    assert cell.shown == []


@pytest.mark.slow
def test_a_script_in_a_terminal_shows_progress(visits: Path) -> None:
    code = "import cauce, sys\nprint(cauce.run('visits.py', 'small', progress=eval(sys.argv[1])))\n"
    answered = "<2 answers: regulars (7 rows), visitors (1 row)>"
    shown = run_in_terminal([sys.executable, "-c", code, "None"], cwd=visits.parent)
    assert shown.code == 0
    assert "1,000 rows" in shown.text
    assert shown.last_lines[-1] == answered
    assert shown.cursor_shown
    silent = run_in_terminal([sys.executable, "-c", code, "False"], cwd=visits.parent)
    assert silent.text.strip() == answered


def test_a_program_without_a_terminal_shows_progress_only_when_asked(
    visits: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cauce.run(visits, visits.with_name("small"))
        assert capfd.readouterr().err == ""
        cauce.run(visits, visits.with_name("small"), progress=True)
        assert "1,000 rows" in capfd.readouterr().err
