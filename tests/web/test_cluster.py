"""The cluster's page: it shows that a process is killed, that this is detected, and that the process recovers."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service.running import Running, until
from tests.web.browsing import watched


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of its own: it is hurt here."""
    with Running(tmp_path_factory.mktemp("cluster"), "serve", "--workers", "2", "--gateways", "2") as running:
        yield running


def pid_of(service: Running, name: str) -> int:
    processes = service.get("/v1/cluster").json()["processes"]
    assert isinstance(processes, list)
    return next(int(each["pid"]) for each in processes if each["name"] == name)


def happened(service: Running, name: str, what: str, since: float) -> list[dict[str, object]]:
    events = service.get("/v1/cluster/events?last=1000").json()["events"]
    assert isinstance(events, list)
    return [each for each in events if each["name"] == name and each["what"] == what and each["at"] > since]


def signs(page: Page, name: str, what: str) -> int:
    return page.locator(f'[data-lane="{name}"] .sign.{what}').count()


def settled(page: Page) -> None:
    expect(page.locator('[data-lane="worker-1"] .alive')).not_to_have_count(0)
    expect(page.locator(".why")).to_contain_text("leads")


def test_a_killed_worker_is_marked_and_shown_as_running_after_its_restart(browser: Browser, cluster: Running) -> None:
    with watched(browser, cluster.url) as found:
        page = found.open("#/cluster")
        settled(page)
        before = signs(page, "worker-1", "crashed")
        killed_at = time.time()
        os.kill(pid_of(cluster, "worker-1"), signal.SIGKILL)
        crashed = page.locator('[data-lane="worker-1"] .sign.crashed')
        expect(crashed).not_to_have_count(before)
        shown_at = time.time()
        expect(crashed.last.locator("title")).to_have_text(re.compile("killed by SIGKILL"))
        for what in ("detected", "restarted", "recovered"):
            expect(page.locator(f'[data-lane="worker-1"] .sign.{what}').last).to_be_visible()
        detected = float(str(happened(cluster, "worker-1", "detected", killed_at)[-1]["at"]))
        sys.stdout.write(f"the mark was there {shown_at - detected:.2f} s after the death was noticed\n")
        row = page.locator("table.processes tr").filter(has=page.get_by_role("rowheader", name="worker-1", exact=True))
        expect(row.locator(".state")).to_have_text("running")


@pytest.mark.slow
def test_the_leader_is_shown_and_its_successor(browser: Browser, cluster: Running) -> None:
    with watched(browser, cluster.url) as found:
        page = found.open("#/cluster")
        settled(page)
        leader = str(cluster.get("/v1/cluster").json()["leader"])
        expect(page.get_by_role("rowheader", name=f"{leader} ★")).to_be_visible()
        os.kill(pid_of(cluster, leader), signal.SIGKILL)
        expect(page.locator(".why")).not_to_contain_text(f"{leader} leads")
        expect(page.locator(".why")).to_contain_text("leads")
        expect(page.locator(f'[data-lane="{leader}"] .sign.crashed')).not_to_have_count(0)


@pytest.mark.slow
def test_past_events_can_be_listed(browser: Browser, cluster: Running) -> None:
    os.kill(pid_of(cluster, "worker-2"), signal.SIGKILL)
    until("the death is on record", lambda: bool(happened(cluster, "worker-2", "crashed", 0.0)))
    with watched(browser, cluster.url) as found:
        page = found.open("#/cluster")
        settled(page)
        assert signs(page, "worker-2", "crashed") >= 1
        expect(page.locator(".events")).to_contain_text("worker-2 crashed: ")
        page.get_by_role("button", name="7 days").click()
        expect(page.locator(".lanes")).to_have_attribute("aria-label", re.compile("7 days"))
        assert signs(page, "worker-2", "crashed") >= 1


@pytest.mark.slow
def test_the_log_of_a_process_is_shown(browser: Browser, cluster: Running) -> None:
    with watched(browser, cluster.url) as found:
        page = found.open("#/cluster")
        settled(page)
        page.get_by_role("button", name="Log of gateway-1").click()
        expect(page.locator(".log")).to_contain_text("gateway started")
        found.assert_accessible()


@pytest.mark.slow
def test_the_page_survives_a_crash_of_its_gateway(browser: Browser, cluster: Running) -> None:
    with watched(browser, cluster.url) as found:
        page = found.open("#/cluster")
        settled(page)
        for name in ("gateway-1", "gateway-2"):
            before = signs(page, name, "crashed")
            os.kill(pid_of(cluster, name), signal.SIGKILL)
            expect(page.locator(f'[data-lane="{name}"] .sign.crashed')).not_to_have_count(before)
        page.goto(f"{cluster.url}/#/jobs")
        expect(page.locator("h1")).to_have_text("Jobs")
        # The browser notes the broken connections on its console; nothing else may be there.
        assert all(re.search("ERR_|Failed to load resource", each) for each in found.complaints), found.complaints
        found.complaints.clear()


@pytest.mark.slow
def test_a_gateway_without_a_cluster_reports_that(browser: Browser, tmp_path: Path) -> None:
    with Running(tmp_path, "gateway") as alone, watched(browser, alone.url) as found:
        page = found.open("#/cluster")
        expect(page.locator(".why")).to_contain_text("runs by itself")
        found.complaints.clear()


def test_the_names_of_processes_are_beside_their_lanes_on_a_phone(browser: Browser, cluster: Running) -> None:
    with watched(browser, cluster.url, narrow=True) as found:
        page = found.open("#/cluster")
        for name in page.locator(".lanes [data-lane] > text").all():
            box = name.bounding_box()
            assert box is not None
            assert 0 <= box["x"] < box["x"] + box["width"] <= 390
        found.assert_fits()


def test_the_log_of_a_process_is_searched(browser: Browser, cluster: Running) -> None:
    with watched(browser, cluster.url) as found:
        page = found.open("#/cluster")
        settled(page)
        page.get_by_role("button", name="Log of gateway-1").click()
        page.get_by_role("searchbox", name="Search the log").fill("GATEWAY STARTED")
        expect(page.locator(".log mark").first).to_have_text("gateway started")
        page.get_by_role("searchbox", name="Search the log").fill("nothing has these words")
        expect(page.locator(".log")).to_have_text("No line contains this text.")
        found.assert_accessible()


def test_an_operator_stops_and_starts_a_worker(browser: Browser, cluster: Running) -> None:
    with watched(browser, cluster.url) as found:
        page = found.open("#/cluster")
        settled(page)
        row = page.locator("table.processes tr").filter(has=page.get_by_role("rowheader", name="worker-2", exact=True))
        row.get_by_role("button", name="Stop worker-2").click()
        page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).click()
        expect(row.locator(".state")).to_have_text("stopped")
        expect(page.locator(".health-word")).to_have_text("Degraded")
        row.get_by_role("button", name="Start worker-2").click()
        expect(row.locator(".state")).to_have_text("running")
        expect(page.locator(".health-word")).to_have_text("Healthy")


def test_doctors_have_no_button_to_stop_them(browser: Browser, cluster: Running) -> None:
    with watched(browser, cluster.url) as found:
        page = found.open("#/cluster")
        settled(page)
        expect(page.get_by_role("button", name="Stop worker-1")).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("^Stop doctor"))).to_have_count(0)
