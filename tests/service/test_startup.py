"""How a service begins: what it takes from the command line, from a file, and from what was wished before."""

from __future__ import annotations

import os
import subprocess
from dataclasses import fields
from pathlib import Path

import msgspec
import pytest
import typer

from cauce.cli.main import app
from cauce.cli.serve import SizeOptions, _wanted
from cauce.doctor.control import read_desired_state, update_desired_state
from cauce.doctor.launch.container import ContainerSettings, container_spec
from cauce.doctor.launch.service_dir import ProcessEntry, ServiceDir
from cauce.doctor.model.desired_state import STOPPED, count_key, hold_key
from cauce.doctor.model.messages import Generation
from cauce.doctor.model.timing import timing_of
from cauce.errors import UsageError
from cauce.service.entrypoints import ServiceConfig, service_config
from cauce.service.startup import DOCTORS, GATEWAYS, ServiceSize, configure, in_containers, with_file
from tests.cli.parsing import commands
from tests.cli.running import cauce


@pytest.fixture
def home(tmp_path: Path) -> ServiceDir:
    made = ServiceDir(tmp_path / "service")
    made.create()
    return made


def start(home: ServiceDir, wanted: ServiceSize | None = None) -> None:
    """All but the processes."""
    cluster = configure(home, ServiceConfig(port=1), wanted or ServiceSize())
    home.write_cluster(msgspec.structs.replace(cluster, doctors=dict.fromkeys(cluster.doctors, "127.0.0.1:9")))


def test_the_first_start_takes_defaults(home: ServiceDir) -> None:
    start(home)
    counts = read_desired_state(home).counts
    assert counts == {("worker", ""): os.cpu_count(), ("gateway", ""): GATEWAYS, ("doctor", ""): DOCTORS}


def test_scaling_is_kept_for_the_next_start(home: ServiceDir) -> None:
    start(home, ServiceSize(workers=2))
    update_desired_state(home, {count_key("worker"): "7"})
    start(home)
    assert read_desired_state(home).counts["worker", ""] == 7
    assert service_config(home.cluster()).lanes == 7
    start(home, ServiceSize(workers=3))
    assert read_desired_state(home).counts["worker", ""] == 3


def test_a_process_that_was_stopped_stays_stopped(home: ServiceDir) -> None:
    start(home, ServiceSize(workers=2))
    update_desired_state(home, {hold_key("worker-1"): STOPPED})
    start(home)
    assert set(read_desired_state(home).held) == {"worker-1"}


def test_key_and_id_stay_the_same(home: ServiceDir) -> None:
    start(home)
    before = home.cluster()
    start(home)
    assert (home.cluster().id, home.cluster().key) == (before.id, before.key)
    assert service_config(home.cluster()).run_id != service_config(before).run_id


@pytest.mark.parametrize(
    "text", ["kings = 3", "workers = 'x'", "watch = 3", "workers = true", "= 3", "[timing]\nx = 1"]
)
def test_an_invalid_cluster_file_is_rejected(tmp_path: Path, text: str) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"cluster\.toml|--timing"):
        with_file(ServiceSize(), file).check()


def test_containers_see_what_the_options_name(tmp_path: Path) -> None:
    files = {"tls_cert": "cert/a.pem", "tls_key": "key/a.pem", "tokens": "tokens/t.json"}
    given = ServiceConfig(
        datasets=[str(tmp_path / "own/shop.py")],
        allow_files=[str(tmp_path / "data")],
        **{name: str(tmp_path / path) for name, path in files.items()},  # type: ignore[arg-type]
    )
    boxes = in_containers(given, "cauce:1", "unix:///run/x.sock").boxes
    assert boxes is not None
    assert boxes.binds == [str(tmp_path / name) for name in ("data", "own", "cert", "key", "tokens")]
    assert in_containers(given, "", "unix:///run/x.sock").boxes is None


def test_containers_see_the_certificates_of_an_encrypted_fabric(tmp_path: Path) -> None:
    files = [f"{name}={tmp_path}/{folder}/x.pem" for name, folder in
             (("cafile", "ca"), ("certfile", "own"), ("keyfile", "own"))]  # fmt: skip
    given = ServiceConfig(fabric=f"amqps://broker/?{'&'.join(files)}")
    boxes = in_containers(given, "cauce:1", "unix:///run/x.sock").boxes
    assert boxes is not None
    assert set(boxes.binds) == {f"{tmp_path}/ca", f"{tmp_path}/own"}


def test_containers_can_change_nothing_but_the_folders_of_the_service(home: ServiceDir) -> None:
    start(home)
    read = ["/data", str(home.folder), str(home.folder / "own"), "/fabric/x"]
    boxes = ContainerSettings("cauce:1", "unix:///run/x.sock", read, writable=["/fabric", str(home.folder / "fabric")])
    box = container_spec(home, ProcessEntry("worker-1", Generation()), boxes)
    assert box.binds == [f"{home.folder}:{home.folder}", "/fabric:/fabric", "/data:/data:ro"]


@pytest.mark.parametrize(("fabric", "writable"), [("files:{}/jobs", ["{}/jobs"]), ("amqp://host", []), ("", [])])
def test_containers_can_change_a_files_fabric(tmp_path: Path, fabric: str, writable: list[str]) -> None:
    given = ServiceConfig(fabric=fabric.format(tmp_path))
    boxes = in_containers(given, "cauce:1", "unix:///run/x.sock").boxes
    assert boxes is not None
    assert boxes.writable == [each.format(tmp_path) for each in writable]


def test_serve_exits_if_the_service_is_stopped_before_it_is_ready(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    size = ("--workers", "1", "--gateways", "1", "--end-with", str(ended.pid))
    outcome = cauce(tmp_path, "serve", "--dir", "service", "--port", "0", *size)
    assert outcome.code == 0
    assert "doctor stopping" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(("option", "expected"), [([], (8, 2)), (["--workers", "9"], (9, 2))])
def test_cluster_file_comes_between_options_and_the_configuration(
    option: list[str], expected: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration sets workers and gateways, the cluster file workers alone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cauce.toml").write_text("[serve]\nworkers = 4\ngateways = 2\n[serve.timing]\nhung = 50\n")
    (tmp_path / "cluster.toml").write_text("workers = 8\n[timing]\nhung = 60\n")
    command = commands()["serve"]
    root = typer.Context(commands()[""], info_name="cauce", obj=app)
    context = command.make_context("serve", ["--dir", "x", "--cluster", "cluster.toml", *option], parent=root)
    options = {each.name: context.params[each.name] for each in fields(SizeOptions)}
    wanted = _wanted(context, SizeOptions(**options))
    assert (wanted.workers, wanted.gateways) == expected
    assert timing_of(wanted.timing).hung == 60
