"""The Docker client and the stand-in process, against a test engine on a real socket."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cauce.doctor.launch.container import IN_CONTAINER, ContainerSettings, container_name, run_in_container
from cauce.doctor.launch.docker import ContainerSpec, Docker
from cauce.doctor.launch.service_dir import Cluster, ProcessEntry, ServiceDir, id_of, new_key
from cauce.doctor.model.messages import Epoch, Generation
from cauce.errors import DockerFailed, UsageError
from cauce.worker.events import EXIT_MEMORY
from tests.chaos.cluster import Cluster as Service
from tests.doctor.docker_engine import IMAGE, Engine
from tests.service.running import until

WORDS = "import sys, time; print('hello'); print('world', file=sys.stderr); "


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path) as made:
        yield made


def box(code: str) -> ContainerSpec:
    """A container that runs this Python code."""
    return ContainerSpec("python", ["-c", code], {"A": "1"}, {"cauce.name": "worker-1"}, ["/tmp:/tmp"])


def test_a_container_is_created_started_waited_for_and_removed(engine: Engine) -> None:
    docker = Docker(engine.address)
    assert docker.create("one", box(WORDS + "sys.exit(7)")) == "id-one"
    docker.start("one")
    assert docker.wait("one") == 7
    assert docker.running("one") == (False, 7)
    assert sorted(docker.last_output("one", 10).splitlines()) == [b"hello", b"world"]
    docker.remove("one")
    assert engine.containers == {}
    docker.remove("one")


def test_the_container_is_created_with_the_fields_of_the_docker_api(engine: Engine) -> None:
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


def test_an_error_of_docker_is_raised_with_its_message(engine: Engine) -> None:
    docker = Docker(engine.address)
    docker.create("one", box("pass"))
    with pytest.raises(DockerFailed, match="already in use") as refused:
        docker.create("one", box("pass"))
    assert refused.value.status == 409
    with pytest.raises(DockerFailed, match="No such container"):
        docker.start("two")


def test_an_engine_that_does_not_answer_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(DockerFailed, match="does not answer"):
        Docker(f"unix://{tmp_path}/nothing.sock").start("one")


@pytest.mark.parametrize("address", ["", "unix://", "http://x", "/var/run/docker.sock"])
def test_an_invalid_address_is_rejected(address: str) -> None:
    with pytest.raises(UsageError, match="invalid address of Docker"):
        Docker(address)


def test_the_docker_command_works_with_the_engine_of_these_tests(engine: Engine) -> None:
    """Ensures that the test engine implements the API of Docker itself."""
    program = shutil.which("docker")
    if program is None:
        pytest.skip("the docker command is not installed")
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


def home_of(tmp_path: Path) -> ServiceDir:
    service_dir = ServiceDir(tmp_path / "service")
    service_dir.create()
    key = new_key()
    service_dir.write_cluster(Cluster(id_of(key), key, {"doctor-1": "127.0.0.1:1"}, "files:x"))
    return service_dir


def test_stand_in_process_exits_with_the_code_of_its_container(engine: Engine, tmp_path: Path) -> None:
    service_dir = home_of(tmp_path)
    entry = ProcessEntry("worker-1@b", Generation(Epoch(1, "doctor-1"), 2))
    name = container_name(service_dir.cluster().id, entry.name)
    # A container left by an earlier generation, which must be removed.
    Docker(engine.address).create(name, box("pass"))
    pid = os.fork()
    if pid == 0:
        os._exit(run_in_container(service_dir, entry, ContainerSettings("python", engine.address)))
    until("the container", lambda: name in engine.containers and engine.containers[name].process is not None)
    spec = engine.containers[name].spec
    assert spec["Cmd"] == [
        "worker", "--dir", str(service_dir.folder), "--name", "worker-1@b",
        "--generation", "1.doctor-1.2", "--restarts", "0",
    ]  # fmt: skip
    assert spec["Env"] == [f"{IN_CONTAINER}=1"]
    _, status = os.waitpid(pid, 0)
    # Python finds no file `worker`.
    assert os.waitstatus_to_exitcode(status) == 2
    assert engine.containers == {}


@pytest.mark.parametrize(("oom_killed", "code"), [(False, -signal.SIGKILL), (True, EXIT_MEMORY)])
def test_stand_in_process_reports_why_its_container_was_killed(
    engine: Engine, tmp_path: Path, oom_killed: bool, code: int
) -> None:
    (tmp_path / "worker").write_text("import time; time.sleep(60)")
    service_dir = home_of(tmp_path)
    entry = ProcessEntry("worker-1", Generation(launch=1))
    name = container_name(service_dir.cluster().id, entry.name)
    pid = os.fork()
    if pid == 0:
        os._exit(run_in_container(service_dir, entry, ContainerSettings("python", engine.address)))
    until("the container", lambda: name in engine.containers and engine.containers[name].running)
    engine.containers[name].oom_killed = oom_killed
    engine.containers[name].signal(signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == code


@pytest.mark.slow
def test_a_service_with_workers_and_gateways_in_containers(tmp_path: Path) -> None:
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
            assert cluster.until_event("crashed", "worker-1").reason.startswith("killed by SIGKILL")
            # Kill the stand-in: the next one must remove the old container.
            cluster.until_replaced(cluster.kill(["worker-1"]))
            assert sum(each.running for each in engine.containers.values()) == 2
        assert [each.name for each in engine.containers.values() if each.running] == []


def test_a_wait_does_not_block_other_calls(engine: Engine) -> None:
    docker = Docker(engine.address)
    docker.create("one", box("import time; time.sleep(60)"))
    docker.start("one")
    waiting = threading.Thread(target=docker.wait, args=("one",))
    waiting.start()
    docker.kill("one")
    waiting.join(30)
    assert not waiting.is_alive()
