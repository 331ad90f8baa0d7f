"""The image: its Dockerfile finds all files it copies, and its probe scripts work."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce import __version__
from cauce.errors import UsageError
from cauce.lab.deploy.image import sources
from tests.lab.deploy.reading import Written

TIMEOUT_S = 60


def instructions(written: Written) -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", "", written.read("image/Dockerfile"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_every_source_of_a_copy_exists(written: Written) -> None:
    copied = [rest.split()[:-1] for word, rest in instructions(written) if word in ("COPY", "ADD")]
    assert copied
    for each in copied:
        for source in each:
            assert (written.folder / "image" / source).exists()


def test_it_starts_from_slim_python_and_runs_unprivileged(written: Written) -> None:
    assert instructions(written)[0] == ("FROM", "python:3.11-slim")
    users = [rest for word, rest in instructions(written) if word == "USER"]
    assert [re.fullmatch(r"[1-9]\d*:[1-9]\d*", user) is not None for user in users] == [True]
    assert instructions(written)[-1] == ("ENTRYPOINT", '["cauce"]')


def test_packages_are_installed_from_the_lock_with_hashes(written: Written) -> None:
    (installs,) = [rest for word, rest in instructions(written) if word == "RUN" and "pip install" in rest]
    assert {"--require-hashes", "--only-binary"} <= set(installs.split())
    assert "--hash=sha256:" in written.read("image/requirements.lock")


def test_tools_outside_the_lock_are_removed(written: Written) -> None:
    runs = [rest for word, rest in instructions(written) if word == "RUN"]
    assert runs[-1].startswith("python -m pip uninstall ")
    assert {"--yes", "pip", "setuptools", "wheel"} <= set(runs[-1].split())


def test_kernels_are_compiled_when_it_is_built(written: Written) -> None:
    (compiles,) = [rest for word, rest in instructions(written) if "compile_kernels" in rest]
    code = re.search(r'python -c "(from [^;"]+);', compiles)
    assert code is not None
    subprocess.run([sys.executable, "-c", code[1]], cwd=written.folder, check=True, timeout=TIMEOUT_S)


def test_the_user_can_read_kernels_compiled_by_root(written: Written) -> None:
    """Kernels are stored in files that only their creator can read."""
    (compiles,) = [rest for word, rest in instructions(written) if "compile_kernels" in rest]
    steps = [step.strip() for step in compiles.split("&&")]
    assert steps[-1] == "chmod -R a+rX /opt/cauce"
    assert ("COPY", "src /opt/cauce") in instructions(written)


def test_its_sources_are_those_of_the_package(written: Written) -> None:
    done = subprocess.run(
        [written.folder / "image/bin/cauce", "--version"],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
             "PYTHONPATH": str(written.folder / "image/src"), "PYTHONSAFEPATH": "1",
             "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=written.folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=True,
    )  # fmt: skip
    assert done.stdout == f"cauce {__version__}\n"


def test_no_compiled_file_of_this_machine_is_in_it(written: Written) -> None:
    assert list((written.folder / "image").rglob("__pycache__")) == []


def test_a_missing_lock_file_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "site-packages" / "cauce"
    package.mkdir(parents=True)
    with pytest.raises(UsageError, match=r"requirements\.lock is missing"):
        sources(package)


def alive(written: Written, process: int, folder: Path) -> bool:
    script = written.folder / "image/bin/cauce-alive"
    done = subprocess.run(
        [script, str(process)], env={**os.environ, "TMPDIR": str(folder)}, timeout=TIMEOUT_S, check=False
    )
    return done.returncode == 0


@pytest.fixture
def loop() -> Iterator[subprocess.Popen[str]]:
    """A process whose main thread runs one iteration for each input line, and whose other thread is always busy."""
    code = "\n".join(
        [
            "import sys, threading, time",
            "def other():",
            "    while True: time.sleep(0.001)",
            "threading.Thread(target=other, daemon=True).start()",
            "for line in sys.stdin: print('done', flush=True)",
        ]
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def one_round(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


def test_a_loop_that_makes_progress_is_alive(compose: Written, loop: subprocess.Popen[str], tmp_path: Path) -> None:
    for _ in range(3):
        one_round(loop)
        assert alive(compose, loop.pid, tmp_path)


def test_a_loop_that_is_stopped_is_not_alive(compose: Written, loop: subprocess.Popen[str], tmp_path: Path) -> None:
    one_round(loop)
    loop.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, loop.pid, os.WSTOPPED)
    alive(compose, loop.pid, tmp_path)
    assert not alive(compose, loop.pid, tmp_path)
    loop.send_signal(signal.SIGCONT)
    one_round(loop)
    assert alive(compose, loop.pid, tmp_path)


def test_a_loop_that_hangs_is_not_alive_though_another_thread_runs(
    compose: Written, loop: subprocess.Popen[str], tmp_path: Path
) -> None:
    one_round(loop)
    # The first probe may see it before it waits again; then it makes no progress, and each probe fails.
    assert False in [alive(compose, loop.pid, tmp_path) for _ in range(20)]
    assert not alive(compose, loop.pid, tmp_path)


def test_an_exited_process_is_not_alive(compose: Written, loop: subprocess.Popen[str], tmp_path: Path) -> None:
    loop.kill()
    loop.wait()
    assert not alive(compose, loop.pid, tmp_path)


def wait_for(written: Written, places: list[str], patience_s: str) -> subprocess.Popen[str]:
    script = written.folder / "image/bin/cauce-wait"
    environment = {**os.environ, "CAUCE_WAIT_S": patience_s}
    return subprocess.Popen([sys.executable, script, *places], env=environment, stderr=subprocess.PIPE, text=True)


def bound() -> tuple[socket.socket, str]:
    """A port that is bound but not listened on."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    return listener, f"127.0.0.1:{listener.getsockname()[1]}"


def test_it_waits_for_all_brokers(compose: Written) -> None:
    (first, here), (second, there) = bound(), bound()
    first.listen()
    waiting = wait_for(compose, [here, there], "3600")
    assert waiting.stderr is not None
    assert waiting.stderr.readline() == f"waiting for {there}\n"
    second.listen()
    waiting.communicate(timeout=TIMEOUT_S)
    assert waiting.returncode == 0


def test_the_wait_for_a_broker_that_stays_down_times_out(compose: Written) -> None:
    (first, here), (_second, there) = bound(), bound()
    first.listen()
    waiting = wait_for(compose, [here, there], "0")
    waiting.communicate(timeout=TIMEOUT_S)
    assert waiting.returncode == 0


def test_without_any_broker_it_keeps_waiting(compose: Written) -> None:
    _listener, place = bound()
    waiting = wait_for(compose, [place], "0")
    assert waiting.stderr is not None
    assert [waiting.stderr.readline() for _ in range(2)] == [f"waiting for {place}\n"] * 2
    waiting.kill()
    waiting.communicate()
