"""Containers through Docker's API, spoken on a real socket."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.doctor.boxed import BOXED, Boxes, container_name, live_in_box
from cauce.doctor.docker import Box, Docker
from cauce.doctor.home import Cluster, Entry, Home, id_of, new_key
from cauce.doctor.messages import Epoch, Incarnation
from cauce.errors import DockerFailed, UsageError
from tests.chaos.cluster import Cluster as Service
from tests.doctor.engine import IMAGE, Engine
from tests.service.running import until

WORDS = "import sys, time; print('hello'); print('world', file=sys.stderr); "


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path) as made:
        yield made


def box(code: str) -> Box:
    """In the place of an image: what Python runs."""
    return Box("python", ["-c", code], {"A": "1"}, {"cauce.name": "worker-1"}, ["/tmp:/tmp"])


def test_a_container_is_made_started_waited_for_and_removed(engine: Engine) -> None:
    docker = Docker(engine.address)
    assert docker.create("one", box(WORDS + "sys.exit(7)")) == "id-one"
    docker.start("one")
    assert docker.wait("one") == 7
    assert docker.running("one") == (False, 7)
    assert sorted(docker.last_words("one", 10).splitlines()) == [b"hello", b"world"]
    docker.remove("one")
    assert engine.containers == {}
    docker.remove("one")


def test_what_is_sent_is_what_docker_knows(engine: Engine) -> None:
    Docker(engine.address).create("one", box("pass"))
    spec = engine.containers["one"].spec
    assert spec == {
        "Image": "python",
        "Cmd": ["-c", "pass"],
        "Env": ["A=1"],
        "Labels": {"cauce.name": "worker-1"},
        "User": "",
        "HostConfig": {"Binds": ["/tmp:/tmp"], "NetworkMode": "host"},
    }


def test_a_container_is_stopped_and_killed(engine: Engine) -> None:
    docker = Docker(engine.address)
    docker.create("one", box(WORDS + "time.sleep(60)"))
    docker.start("one")
    docker.stop("one", 5)
    assert docker.wait("one") == 128 + signal.SIGTERM
    docker.kill("one")
    assert docker.running("one") == (False, 128 + signal.SIGTERM)


def test_a_refusal_is_told_in_dockers_words(engine: Engine) -> None:
    docker = Docker(engine.address)
    docker.create("one", box("pass"))
    with pytest.raises(DockerFailed, match="already in use") as refused:
        docker.create("one", box("pass"))
    assert refused.value.status == 409
    with pytest.raises(DockerFailed, match="No such container"):
        docker.start("two")


def test_an_engine_that_is_not_there_is_told_by_its_address(tmp_path: Path) -> None:
    with pytest.raises(DockerFailed, match="does not answer"):
        Docker(f"unix://{tmp_path}/nothing.sock").start("one")


@pytest.mark.parametrize("address", ["", "unix://", "http://x", "/var/run/docker.sock"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="no address of Docker"):
        Docker(address)


def test_dockers_own_client_understands_the_engine_of_these_tests(engine: Engine) -> None:
    """So that what is tested here is Docker's API and not what we take for it."""
    program = shutil.which("docker")
    if program is None:
        pytest.skip("there is no docker command here")
    Docker(engine.address).create("one", box(WORDS + "time.sleep(60)"))

    def docker(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, "-H", engine.address, *arguments], capture_output=True, text=True, check=False, timeout=60
        )

    assert docker("start", "one").stdout == "one\n"
    until("its words", lambda: b"world" in engine.containers["one"].log.read_bytes())
    assert docker("kill", "--signal", "SIGKILL", "one").returncode == 0
    assert docker("wait", "one").stdout == "137\n"
    assert docker("rm", "-f", "one").returncode == 0
    assert engine.containers == {}


def home_of(tmp_path: Path) -> Home:
    home = Home(tmp_path / "service")
    home.make()
    key = new_key()
    home.write_cluster(Cluster(id_of(key), key, {"doctor-1": "127.0.0.1:1"}, "files:x"))
    return home


def test_a_box_ends_as_its_container_does(engine: Engine, tmp_path: Path) -> None:
    home = home_of(tmp_path)
    entry = Entry("worker-1@b", Incarnation(Epoch(1, "doctor-1"), 2))
    name = container_name(home.cluster().id, entry.name)
    # What an earlier incarnation left is in the way, and goes.
    Docker(engine.address).create(name, box("pass"))
    pid = os.fork()
    if pid == 0:
        os._exit(live_in_box(home, entry, Boxes("python", engine.address)))
    until("the container", lambda: name in engine.containers and engine.containers[name].process is not None)
    spec = engine.containers[name].spec
    assert spec["Cmd"] == [
        "worker", "--dir", str(home.folder), "--name", "worker-1@b", "--incarnation", "1.doctor-1.2", "--restarts", "0",
    ]  # fmt: skip
    assert spec["Env"] == [f"{BOXED}=1"]
    _, status = os.waitpid(pid, 0)
    # Python knows no program `worker`.
    assert os.waitstatus_to_exitcode(status) == 2
    assert engine.containers == {}


def test_a_box_whose_container_is_killed_dies_by_the_same_signal(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "worker").write_text("import time; time.sleep(60)")
    home = home_of(tmp_path)
    entry = Entry("worker-1", Incarnation(launch=1))
    name = container_name(home.cluster().id, entry.name)
    pid = os.fork()
    if pid == 0:
        os._exit(live_in_box(home, entry, Boxes("python", engine.address)))
    until("the container", lambda: name in engine.containers and engine.containers[name].running)
    engine.containers[name].signal(signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


@pytest.mark.slow
def test_a_service_whose_workers_and_gateways_live_in_containers(tmp_path: Path) -> None:
    with Engine(tmp_path) as engine:
        with Service(tmp_path, "--image", IMAGE, "--docker", engine.address, workers=1, gateways=1) as cluster:
            cluster.until_well()
            names = {str(dict(each.spec["Labels"])["cauce.name"]) for each in engine.containers.values()}  # type: ignore[call-overload]
            assert names == {"worker-1", "gateway-1"}
            assert cluster.service.get("/readyz").status == 200
            victims = [cluster.alive()[name] for name in ("worker-1", "gateway-1")]
            for container in list(engine.containers.values()):
                container.signal(signal.SIGKILL)
            cluster.until_replaced(victims)
            assert cluster.until_told("died", "worker-1").why.startswith("killed by SIGKILL")
            # Who holds a container from outside is killed: its container does not stay beside the next one.
            cluster.until_replaced(cluster.kill(["worker-1"]))
            assert sum(each.running for each in engine.containers.values()) == 2
        assert [each.name for each in engine.containers.values() if each.running] == []


def test_a_wait_keeps_nobody_else_waiting(engine: Engine) -> None:
    docker = Docker(engine.address)
    docker.create("one", box("import time; time.sleep(60)"))
    docker.start("one")
    waiting = threading.Thread(target=docker.wait, args=("one",))
    waiting.start()
    docker.kill("one")
    waiting.join(30)
    assert not waiting.is_alive()
