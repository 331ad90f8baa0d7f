"""The banner that no worker runs, and its button."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from cauce.client import Service
from cauce.doctor.control import update_desired_state
from cauce.doctor.launch.service_dir import ServiceDir
from cauce.doctor.model.desired_state import STOPPED, hold_key
from tests.service.running import Running
from tests.web import shop
from tests.web.browsing import watched

pytestmark = pytest.mark.slow
BUTTON = "Start the workers"


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("idle"), "serve", "--workers", "2", "--gateways", "1") as running:
        yield running


def stop_workers(service: Running) -> None:
    update_desired_state(
        ServiceDir(service.folder),
        {hold_key(f"worker-{number}"): STOPPED for number in (1, 2)},
        "stopped by an operator",
    )


def test_the_cluster_page_names_stopped_workers_and_starts_them(browser: Browser, idle: Running) -> None:
    with watched(browser, idle.url) as found:
        page = found.open("#/cluster")
        expect(page.locator(".why")).to_contain_text("leads")
        expect(page.locator(".banner")).to_be_hidden()
        stop_workers(idle)
        expect(page.locator(".banner")).to_contain_text("No worker is running: worker-1 and worker-2 are stopped")
        expect(page.locator(".banner")).to_contain_text(f"./cauce start worker-1 worker-2 --dir {idle.folder}")
        found.assert_accessible()
        page.get_by_role("button", name=BUTTON).click()
        expect(page.locator(".banner")).to_be_hidden()
        worker = page.locator("table.processes tr").filter(
            has=page.get_by_role("rowheader", name="worker-1", exact=True)
        )
        expect(worker.locator(".state")).to_have_text("running")


def test_statements_wait_for_workers_that_are_started_from_the_page(
    browser: Browser, idle: Running, tmp_path: Path
) -> None:
    shop.write_files(tmp_path)
    shop.keep(idle, tmp_path)
    stop_workers(idle)
    with watched(browser, idle.url) as found:
        page = found.open("#/sql")
        page.get_by_role("textbox", name="Statements").fill("SELECT count(*) AS n FROM orders")
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator(".sql-job .banner")).to_contain_text("No worker is running")
        found.assert_accessible()
        found.screenshot("sql-no-worker")
        page.get_by_role("button", name=BUTTON).click()
        expect(page.locator(".sql-job .state")).to_have_text("done")
        expect(page.locator("#tab-panel tbody td")).to_have_text(str(shop.ROWS))


def test_a_waiting_job_names_stopped_workers_and_starts_them(browser: Browser, idle: Running, coffee: Path) -> None:
    stop_workers(idle)
    with Service(idle.url) as client, watched(browser, idle.url) as found:
        client.submit("coffee", coffee, job="waiting", wait=False)
        page = found.open("#/jobs")
        expect(page.locator(".banner")).to_contain_text("No worker is running")
        row = page.locator("table.jobs tbody tr").first
        expect(row).to_contain_text("waits for a worker")
        assert " left" not in row.inner_text()
        page = found.open("#/job/waiting")
        expect(page.locator(".banner")).to_contain_text("No worker is running: worker-1 and worker-2 are stopped")
        expect(page.locator(".facts")).to_contain_text("waits for a worker")
        found.assert_accessible()
        page.get_by_role("button", name=BUTTON).click()
        expect(page.locator(".state").first).to_have_text("done")
        expect(page.locator(".banner")).to_be_hidden()
