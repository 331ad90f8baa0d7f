"""Network partitions of a service over several hosts while jobs run: all jobs complete with the oracle's answers.
Prints how long work was stalled."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest
import urllib3

from cauce.client import Service
from cauce.client.settings import Sent
from cauce.fabric.contract import START, Fabric, Position
from cauce.fabric.factory import open_fabric
from cauce.fabric.names import Log, owner_and_job
from cauce.fabric.records import Record
from cauce.lab.broker.hosts import Host
from cauce.worker.stats import STATS_LOG, load_stats
from tests.brokers import pauses_minorities, require_rabbitmq
from tests.chaos.hosts import require_namespaces
from tests.chaos.interrupted import FURTHER, SMALL, Case, Interrupted, half_way, make_case, until_work_goes_on
from tests.chaos.spread import GATEWAYS, NODES, WORKERS, Spread, spread
from tests.service.running import until

pytestmark = pytest.mark.soak

SCALES = {"books": 0.0006, "coffee": 0.0003}
PAUSE_S = 5.0
SPLIT_S = 15.0
LOST_S = 120.0
REST_S = 1.0
MOST_ROUNDS = 10
STATS_S = 3.0


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    return [make_case(name, tmp_path_factory.mktemp(name), scale) for name, scale in SCALES.items()]


@pytest.fixture(scope="module")
def _service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spread]:
    require_rabbitmq()
    require_namespaces()
    with spread(tmp_path_factory.mktemp("hosts")) as made:
        yield made


@pytest.fixture
def service(_service: Spread) -> Iterator[Spread]:
    _service.mend()
    yield _service
    _service.network.heal()


@dataclass
class Somewhere(Interrupted):
    """A client on a host."""

    host: Host = field(kw_only=True)

    def start(self) -> None:
        with self.host.entered():
            super().start()


def client(service: Spread, case: Case, client: str = "c1", gateway: str = "g1") -> Somewhere:
    job = f"{case.dataset}-{time.monotonic_ns()}"
    return Somewhere(case, service.url(gateway), job, token=service.token, host=service.host(client))


def at_rest(service: Spread, clients: list[Somewhere]) -> list[int]:
    """Waits until all parts that were sent are processed as far as possible. Returns the leases that each worker holds
    then."""
    half_way(clients)
    seen: list[int] = []
    since = time.monotonic()
    while time.monotonic() - since < REST_S:
        now = [*map(service.leases, WORKERS), *(each.parts_read() for each in clients)]
        if now != seen:
            seen, since = now, time.monotonic()
    return seen[: len(WORKERS)]


def report(fault: str, stood_s: float) -> None:
    sys.stdout.write(f"{fault}: work went on after {stood_s:.2f} s\n")


def at_work(service: Spread, jobs: list[str]) -> set[str]:
    """The generations of the workers that have processed anything of some jobs."""
    with closing(open_fabric(service.fabric)) as fabric:
        names = [name for name in fabric.jobs() if (owner_and_job(name) or ("", ""))[1] in jobs]
        assert len(names) == len(jobs)
        stats = [load_stats(each.body) for name in names for each in everything(fabric, name, STATS_LOG)]
    return {each.worker_id for each in stats for task in each.tasks.values() if task.read.records or task.sent}


def everything(fabric: Fabric, job: str, log: Log) -> Iterator[Record]:
    fabric.read_barrier(job, log)
    position: Position = START
    while (batch := fabric.read(job, log, position, 1 << 24)).records:
        position = batch.position
        yield from batch.records


def test_workers_of_all_hosts_process_tasks(service: Spread, cases: list[Case]) -> None:
    """Two workers may be fast enough to complete small jobs before the third one has noticed them."""
    found: set[str] = set()
    for _ in range(MOST_ROUNDS):
        clients = [client(service, case) for case in cases]
        for each in clients:
            each.go_on.set()
            each.start()
        with Service(service.url("g2"), service.token) as seen:
            for each in clients:
                until(f"the start of {each.job}", lambda each=each: each.has_gone_on())  # type: ignore[misc]
                seen.job(each.job).wait()
        # Workers append their statistics at intervals.
        time.sleep(STATS_S)
        found |= at_work(service, [each.job for each in clients])
        for each in clients:
            each.finish()
        # One process on each host, and one generation of each process.
        if len(found) == len(WORKERS):
            return
    pytest.fail(f"only {len(found)} workers have processed anything in {MOST_ROUNDS} rounds")


def test_tasks_of_a_lost_host_are_taken_over(service: Spread, cases: list[Case]) -> None:
    clients = [client(service, case) for case in cases]
    leases = dict(zip(WORKERS, at_rest(service, clients), strict=True))
    lost = max(leases, key=leases.__getitem__)
    others = [name for name in WORKERS if name != lost]
    assert leases[lost] > 0
    service.host(lost).cut_off()
    before = sum(map(leases.__getitem__, others))
    stood_s = until("its leases elsewhere", lambda: sum(map(service.leases, others)) > before, LOST_S)
    report(f"host {lost} gone for good", stood_s)
    until_work_goes_on(clients)
    for each in clients:
        each.finish()
    # It was not terminated from outside.
    service.host(lost).join()
    service.replace(lost)


@pytest.mark.parametrize("name", NODES)
def test_jobs_continue_without_a_partitioned_node(name: str, service: Spread, cases: list[Case]) -> None:
    clients = [client(service, case) for case in cases]
    at_rest(service, clients)
    assert service.connections(name) > 0
    started = time.monotonic()
    service.host(name).cut_off()
    report(f"node {name} cut off", until_work_goes_on(clients))
    assert not service.nodes.answers(name)
    for each in clients:
        each.finish()
    sys.stdout.write(f"node {name} cut off: all answers were there after {time.monotonic() - started:.2f} s\n")
    service.host(name).join()
    sys.stdout.write(f"node {name} cut off: the cluster was whole {service.until_whole():.2f} s after it was healed\n")


def test_jobs_on_both_sides_complete_after_a_partition_heals(service: Spread, cases: list[Case]) -> None:
    books, coffee = cases
    clients = [client(service, books), client(service, coffee, "c2", "g2")]
    at_rest(service, clients)
    service.network.split()
    assert not service.nodes.answers("r3")
    healing = threading.Thread(target=heal_once_noticed, args=(service, time.monotonic()))
    healing.start()
    report("split", until_work_goes_on(clients))
    healing.join()
    for each in clients:
        each.finish()
    service.until_whole()


def heal_once_noticed(service: Spread, started: float) -> None:
    """A partition that heals at the moment at which nodes detect it may leave RabbitMQ partitioned permanently."""
    if pauses_minorities(service.nodes):
        with service.host("c2").entered():
            until("a node that stands still", lambda: not service.nodes.answers("r3"))
    time.sleep(max(started + SPLIT_S - time.monotonic(), 0))
    sys.stdout.write(f"split: healed after {time.monotonic() - started:.2f} s\n")
    service.network.heal()


def test_jobs_complete_while_a_node_stays_partitioned(service: Spread, cases: list[Case]) -> None:
    """Makes nodes ignore the partition, as happens by chance if it heals at the moment at which they detect it."""
    if not pauses_minorities(service.nodes):
        pytest.skip("nodes of this version join again by themselves")
    clients = [client(service, case) for case in cases]
    at_rest(service, clients)
    handling = "application:set_env(rabbit, cluster_partition_handling, {}), ok."
    for name in NODES:
        service.nodes.ctl(name, "eval", handling.format("ignore"))
    service.host("r3").cut_off()
    until("the others without it", lambda: "r3" not in service.nodes.ctl("r1", "eval", "nodes()."))
    service.host("r3").join()
    until("a cluster that is split", lambda: bool(service.status("r3")["partitions"]))
    report("node r3 apart", until_work_goes_on(clients))
    for each in clients:
        each.finish()
    assert service.status("r3")["partitions"]
    for name in NODES:
        service.nodes.ctl(name, "eval", handling.format("pause_minority"))
    service.nodes.kill("r3")
    service.nodes.start_again("r3")
    service.until_whole()


MUTED = {"one node": ["r1"], "all hosts": [*NODES, *WORKERS, *GATEWAYS]}


@pytest.mark.parametrize("who", MUTED)
def test_jobs_complete_after_links_dropped_all_packets(who: str, service: Spread, cases: list[Case]) -> None:
    clients = [client(service, case) for case in cases]
    at_rest(service, clients)
    for name in MUTED[who]:
        service.host(name).mute()
    threading.Timer(PAUSE_S, service.network.heal).start()
    report(f"{who} mute for {PAUSE_S:.0f} s", until_work_goes_on(clients))
    for each in clients:
        each.finish()
    service.until_whole()


class Spy:
    """Records every part that is sent, and its receiver."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.sent: list[tuple[str, str]] = []
        original = urllib3.HTTPConnectionPool.urlopen

        def urlopen(pool: urllib3.HTTPConnectionPool, method: str, url: str, *args: object, **kwargs: object) -> object:
            if method == "PUT" and "/parts/" in url:
                self.sent.append((pool.host, url))
            return original(pool, method, url, *args, **kwargs)  # type: ignore[arg-type]

        patch.setattr(urllib3.HTTPConnectionPool, "urlopen", urlopen)


def test_at_most_one_window_is_resent_after_a_gateway_is_partitioned(
    service: Spread, cases: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    case, spy, lost = cases[0], Spy(monkeypatch), []
    acknowledged: list[float] = []

    def progress(sent: Sent) -> None:
        """Others are in flight while this one is reported."""
        acknowledged.append(time.monotonic())
        if sent.sent == 6 and not lost:
            lost.extend(name for name in GATEWAYS if service.host(name).address == spy.sent[-1][0])
            service.host(lost[0]).cut_off()

    with Service([service.url(name) for name in GATEWAYS], service.token) as both:
        job = both.submit(case.dataset, case.data, on_progress=progress, settings=SMALL)
        assert lost
        for query in case.queries:
            into = io.BytesIO()
            job.save(query, "csv", into)
            assert into.getvalue() == case.wanted[query]
        job.cancel()
    stood = acknowledged[6 + FURTHER]
    report(f"gateway {lost[0]} cut off", stood - acknowledged[5])
    counts = Counter(url for _, url in spy.sent)
    again = counts.total() - len(counts)
    sys.stdout.write(f"gateway {lost[0]} cut off: {again} of {len(counts)} parts were sent again\n")
    assert {address for address, _ in spy.sent} == {service.host(name).address for name in GATEWAYS}
    assert again <= SMALL.window
