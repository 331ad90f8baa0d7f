"""The whole story in one browser: upload, watch, kill a worker, see the mark, page through the answers, cancel."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from cauce.lab.generators import generate
from tests.e2e.comparing import run
from tests.service.running import Running, pieces_of
from tests.web.browsing import Watched, watched
from tests.web.test_cluster import happened, pid_of

JOB = "the-story"

WHEN_MARKED = """() => new Promise((resolve) => {
  const look = () => document.querySelector('[data-lane="worker-1"] .sign.crashed') ? resolve(Date.now() / 1000)
    : requestAnimationFrame(look);
  look();
})"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough for some seconds of work."""
    folder = tmp_path_factory.mktemp("large")
    generate("coffee", folder, scale=0.03, seed=11)
    return folder


def send(page: Page, folder: Path) -> None:
    page.get_by_role("radio", name=re.compile("coffee")).check()
    page.locator("#pick-folder").set_input_files(folder)
    expect(page.get_by_text("All tables have their files.")).to_be_visible()
    page.get_by_label("Id of the job").fill(JOB)
    page.get_by_role("button", name="Send and watch").click()
    expect(page.locator("h1")).to_have_text(JOB)


def watch(found: Watched, page: Page) -> None:
    """The plan shows progress while the files are uploaded."""
    expect(page.locator("h1 + .state")).to_have_text(re.compile("receiving|running"))
    # First: on a busy machine the browser may be slower than the job.
    expect(page.locator(".why")).to_contain_text(re.compile("is the bottleneck|waits for"))
    expect(page.locator(".stage.busy").first).to_be_visible()
    expect(page.locator(".edge.flows").first).to_be_visible()
    found.picture("job-at-work")
    page.get_by_role("tab", name="Timeline").click()
    expect(page.locator(".timeline .cell").first).to_be_visible()


def kill(found: Watched, page: Page, service: Running) -> None:
    page.goto(f"{service.url}/#/cluster")
    expect(page.locator('[data-lane="worker-1"] .alive')).not_to_have_count(0)
    os.kill(pid_of(service, "worker-1"), signal.SIGKILL)
    marked_at = float(page.evaluate(WHEN_MARKED))
    detected = float(str(happened(service, "worker-1", "detected", 0.0)[-1]["at"]))
    sys.stdout.write(f"the mark was there {marked_at - detected:.2f} s after the death was noticed\n")
    expect(page.locator('[data-lane="worker-1"] .sign.recovered').last).to_be_visible()
    page.get_by_role("button", name="1 min").click()
    found.picture("cluster")


def read(found: Watched, page: Page, service: Running, folder: Path) -> None:
    page.goto(f"{service.url}/#/job/{JOB}/results")
    expect(page.locator("h1 + .state")).to_have_text("done", timeout=120_000)
    wanted = run("coffee", folder, ["q1"])["q1"].decode().splitlines()[1:]
    expect(page.locator("#tab-panel .bar [role=status]")).to_contain_text(f"of {len(wanted):,}")
    page.get_by_role("button", name="Next").first.click()
    expect(page.locator("#tab-panel .bar [role=status]")).to_contain_text("26–50")
    cells = page.locator("#tab-panel table.rows tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.dataset.exact ?? cell.textContent).join(','))"
    )
    assert cells == wanted[25:50]
    page.get_by_role("tab", name=re.compile("^q3")).click()
    expect(page.locator("#tab-panel .chart")).to_be_visible()
    found.picture("answers")
    body = service.get(f"/v1/jobs/{JOB}/results/q1").body.decode().splitlines()[1:]
    assert body == wanted


def cancel(found: Watched, page: Page, service: Running, folder: Path) -> None:
    service.create("another", "books")
    service.create("half-sent", "coffee")
    for piece in pieces_of("coffee", folder, 2**20)[::2]:
        service.put("half-sent", piece)
    page.goto(f"{service.url}/#/jobs")
    page.get_by_label(f"Choose job {JOB}").check()
    expect(page.get_by_role("link", name="half-sent")).to_be_visible()
    page.get_by_role("button", name="Remove 1 job").click()
    page.get_by_role("button", name="Remove job").click()
    row = page.locator("table.jobs tbody tr").filter(has=page.get_by_role("link", name=JOB, exact=True))
    expect(row.locator(".state")).to_have_text("cancelled")
    assert service.state(JOB) == "cancelled"


@pytest.mark.soak
def test_a_job_from_upload_to_results_in_the_browser(browser: Browser, tmp_path: Path, large: Path) -> None:
    with (
        Running(tmp_path, "serve", "--workers", "2", "--gateways", "1") as service,
        watched(browser, service.url) as found,
    ):
        page = found.open("#/new")
        send(page, large)
        watch(found, page)
        kill(found, page, service)
        read(found, page, service, large)
        cancel(found, page, service, large)
