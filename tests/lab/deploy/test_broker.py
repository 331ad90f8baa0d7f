"""The settings of the RabbitMQ cluster: RabbitMQ itself parses them, and they equal those of private nodes."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cauce.errors import FabricError
from cauce.fabric.address import Tls, parse
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.rabbitmq.settings.required import NET_SETUP_S, NET_TICK_S, RELIED_ON
from cauce.lab.broker.nodes import Nodes
from cauce.lab.broker.releases import choose
from cauce.lab.deploy.broker import BY_ORDINAL, TLS_FOLDER, address, by_list, login, permissions, settings
from cauce.lab.deploy.plan import BROKERS, Plan
from cauce.lab.deploy.sizes import GI, MI
from tests.brokers import require_rabbitmq
from tests.conformance.worlds import data, drain, names, took
from tests.fabric.rabbit import in_own_namespace
from tests.lab.deploy.reading import Written

READ = """
[File | Schemas] = init:get_plain_arguments(),
case cuttlefish_generator:map(cuttlefish_schema:files(Schemas), cuttlefish_conf:file(File)) of
    {error, _, Why} -> io:format("~p~n", [Why]), halt(1);
    Done -> io:format("~p~n", [Done]), halt(0)
end.
"""
"""RabbitMQ's own parser of configuration files, without a node."""


def read_by_rabbitmq(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Parses settings; the files that they name must exist, so the paths of the container become those of a folder."""
    require_rabbitmq()
    for name in ("tls.crt", "tls.key"):
        (folder / name).touch()
    path = folder / "rabbitmq.conf"
    path.write_text(text.replace(TLS_FOLDER, str(folder)))
    installation = choose()
    plugins = installation.plugins
    schemas = [*plugins.glob("rabbit-*/priv/schema/rabbit.schema"), *plugins.glob("*_k8s-*/priv/schema/*.schema")]
    assert len(schemas) == 2
    code = [str(folder) for folder in sorted(plugins.glob("*/ebin"))]
    command = [
        *installation.prefix,
        "erl",
        "-noshell",
        "-pa",
        *code,
        "-eval",
        READ,
        "-extra",
        str(path),
        *map(str, schemas),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_rabbitmq_parses_the_settings(written: Written, tmp_path: Path) -> None:
    done = read_by_rabbitmq(written.read("rabbitmq.conf"), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for text in ("{net_ticktime,10}", "{consumer_timeout,86400000}", "{frame_max,8388608}", "{heartbeat,10}"):
        assert text in done.stdout


def test_nodes_wait_briefly_for_a_node_that_is_cut_off(
    compose: Written, kubernetes: Written, operator: Written, helm: Path
) -> None:
    """With the default of 7 s, requests about streams would take longer than clients wait."""
    flags = f"-kernel net_ticktime {NET_TICK_S} net_setuptime {NET_SETUP_S}"
    for folder in (compose.folder, kubernetes.folder, operator.folder, helm):
        texts = [path.read_text() for path in folder.rglob("*.yaml")]
        assert any(flags in text for text in texts), folder


def test_rabbitmq_refuses_settings_it_does_not_know(compose: Written, tmp_path: Path) -> None:
    assert read_by_rabbitmq(compose.read("rabbitmq.conf") + "net_ticktimes = 10\n", tmp_path).returncode == 1


def test_the_user_is_no_administrator_and_has_few_permissions(written: Written, tmp_path: Path) -> None:
    done = read_by_rabbitmq(written.read("rabbitmq.conf"), tmp_path)
    read = "".join(done.stdout.split())
    assert "{default_user_tags,[]}" in read
    used = '<<"^cauce[.-]|^amq[.]default">>'
    assert f'{{default_permissions,[<<"^cauce[.-]">>,{used},{used}]}}' in read


@pytest.mark.slow
def test_these_permissions_are_enough(broker: Nodes) -> None:
    known = parse(in_own_namespace(broker.address))
    given = permissions(known.namespace)
    broker.ctl("r1", "add_user", known.namespace, "password")
    broker.ctl("r1", "set_permissions", known.namespace, given["configure"], given["write"], given["read"])
    fabric = RabbitFabric(replace(known, user=known.namespace, password="password"))
    fabric.create_job("j", b"")
    fabric.append("j", Log("log"), data(0, 1))
    fabric.read_barrier("j", Log("log"))
    assert names(drain(fabric, "j", Log("log"))[0]) == [(0, 1)]
    fabric.enqueue("j", "q", ["a"])
    took(fabric).complete()
    fabric.remove_all()
    fabric.close()
    with pytest.raises(FabricError, match="permissions"):
        RabbitFabric(replace(known, user=known.namespace, password="password", namespace="other"))
    broker.ctl("r1", "delete_user", known.namespace)


def test_the_settings_are_those_of_private_nodes(written: Written) -> None:
    text = written.read("rabbitmq.conf")
    assert RELIED_ON in text


def test_no_secret_is_among_the_settings(written: Written) -> None:
    assert "default_pass" not in written.read("rabbitmq.conf")


def test_a_minority_pauses_by_default_or_by_setting() -> None:
    assert "cluster_partition_handling = pause_minority" in settings(Plan(broker_image="rabbitmq:4.2"), BY_ORDINAL)
    assert "cluster_partition_handling" not in settings(Plan(broker_image="rabbitmq:4.3"), BY_ORDINAL)


def test_limits_follow_the_sizes() -> None:
    text = settings(Plan(broker_memory=1000 * MI, storage=40 * GI), by_list(["a"]))
    assert f"vm_memory_high_watermark.absolute = {600 * MI}\n" in text
    assert f"disk_free_limit.absolute = {2 * GI}\n" in text


def test_the_disk_alarm_leaves_space_on_the_smallest_disk() -> None:
    assert f"disk_free_limit.absolute = {512 * MI}\n" in settings(Plan(storage=2 * GI), by_list(["a"]))


def test_peer_discovery_lists_the_existing_hosts(compose: Written) -> None:
    hosts = [service["hostname"] for service in compose.services().values() if "rabbitmq" in service["image"]]
    assert len(hosts) == BROKERS
    text = compose.read("rabbitmq.conf").splitlines()
    assert [line for line in text if line.startswith("cluster_formation")] == by_list(hosts)


def test_the_address_has_all_nodes_and_the_created_user() -> None:
    broker = parse(address("secret", ["a", "b", "c"], "/ca.crt"))
    assert broker.servers == (("a", 5671), ("b", 5671), ("c", 5671))
    assert login("secret") == f"default_user = {broker.user}\ndefault_pass = {broker.password}\n"
    assert broker.vhost == "/"
    assert broker.tls == Tls("/ca.crt")


def test_clients_connect_over_tls_only(compose: Written, tmp_path: Path) -> None:
    done = read_by_rabbitmq(compose.read("rabbitmq.conf"), tmp_path)
    read = "".join(done.stdout.split())
    assert "{tcp_listeners,[]}" in read
    assert "{ssl_listeners,[5671]}" in read
    assert "{versions,['tlsv1.2','tlsv1.3']}" in read or "{versions,['tlsv1.3','tlsv1.2']}" in read
