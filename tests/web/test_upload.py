"""Files sent from the browser: the answers are those of `cauce run`, whatever happens on the way."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.comparing import run
from tests.service.running import Running
from tests.web.browsing import watched

QUERIES = ["q1", "q2", "q3", "q4"]


def fill(page: Page, folder: Path, job: str, dataset: str = "coffee") -> None:
    page.get_by_role("radio", name=re.compile(dataset)).check()
    page.locator("#pick-folder").set_input_files(folder)
    expect(page.get_by_text("All tables have their files.")).to_be_visible()
    page.get_by_label("Id of the job").fill(job)


def assert_answers(service: Running, job: str, folder: Path) -> None:
    wanted = run("coffee", folder, QUERIES)
    for query in QUERIES:
        assert service.get(f"/v1/jobs/{job}/results/{query}").body == wanted[query]


def test_a_folder_is_sent_watched_and_answered(browser: Browser, service: Running, coffee: Path) -> None:
    with watched(browser, service.url) as found:
        page = found.open("#/new")
        fill(page, coffee, "from-browser")
        found.assert_accessible()
        found.picture("upload")
        page.get_by_role("button", name="Send and watch").click()
        expect(page.locator("h1")).to_have_text("from-browser")
        expect(page.locator("h1 + .state")).to_have_text("done", timeout=60_000)
        expect(page.get_by_text("All files of from-browser are sent")).to_be_visible()
        expect(page.locator("table.rows tbody tr").first).to_be_visible()
    assert_answers(service, "from-browser", coffee)


@pytest.mark.slow
def test_compressed_files_are_unpacked_on_the_way(
    browser: Browser, service: Running, coffee: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "packed"
    shutil.copytree(coffee, folder)
    for path in sorted(folder.rglob("*.csv")):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    with watched(browser, service.url) as found:
        page = found.open("#/new")
        fill(page, folder, "unpacked")
        page.get_by_role("button", name="Send and watch").click()
        expect(page.locator("h1 + .state")).to_have_text("done", timeout=60_000)
    assert_answers(service, "unpacked", coffee)


@pytest.mark.slow
def test_an_upload_survives_a_service_that_fails_now_and_then(browser: Browser, service: Running, coffee: Path) -> None:
    counted = {"failed": 0, "all": 0}

    def shaky(route: Route) -> None:
        counted["all"] += 1
        if counted["all"] % 3 == 0:
            counted["failed"] += 1
            if counted["failed"] % 2:
                route.abort()
            else:
                headers = {"Content-Type": "application/problem+json", "Retry-After": "0"}
                route.fulfill(
                    status=503, headers=headers, body='{"code": "unavailable", "detail": "as the test wants"}'
                )
        else:
            route.continue_()

    with watched(browser, service.url) as found:
        page = found.open("#/new")
        fill(page, coffee, "shaken")
        page.route("**/parts/*", shaky)
        page.get_by_role("button", name="Send and watch").click()
        expect(page.locator("h1 + .state")).to_have_text("done", timeout=60_000)
        assert counted["failed"] > 5
        # The browser notes on its console what failed on purpose.
        assert all(re.search("Failed to load resource", each) for each in found.complaints), found.complaints
        found.complaints.clear()
    assert_answers(service, "shaken", coffee)


@pytest.mark.slow
def test_a_stopped_upload_resumes(browser: Browser, service: Running, coffee: Path) -> None:
    with watched(browser, service.url) as found:
        page = found.open("#/new")
        fill(page, coffee, "resumed")
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.url) if request.method == "PUT" else None)

        stalled: list[Route] = []

        def stall(route: Route) -> None:
            # But for its first part, the last table stays on its way until the upload is stopped.
            if route.request.url.endswith("/0"):
                route.continue_()
            else:
                stalled.append(route)

        page.route("**/tables/transaction_items/parts/*", stall)
        page.get_by_role("button", name="Send and watch").click()
        expect(page.locator("#uploads")).to_contain_text("transaction_items")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".upload.failed")).to_contain_text("to resume it")
        assert stalled
        page.unroute_all(behavior="ignoreErrors")
        assert service.state("resumed") == "receiving"
        before = len(sent)
        page.goto(f"{service.url}/#/new")
        fill(page, coffee, "resumed")
        page.get_by_role("button", name="Send and watch").click()
        expect(page.locator("h1 + .state")).to_have_text("done", timeout=60_000)
        again = [url for url in sent[before:] if "/parts/" in url]
        assert not [url for url in again if "/tables/stores/" in url]
        found.complaints = [each for each in found.complaints if "ERR_ABORTED" not in each]
    assert_answers(service, "resumed", coffee)


@pytest.mark.slow
def test_only_tables_that_the_queries_need_are_requested(browser: Browser, service: Running, coffee: Path) -> None:
    with watched(browser, service.url) as found:
        page = found.open("#/new")
        page.get_by_role("radio", name=re.compile("coffee")).check()
        for query in ("q2", "q3", "q4"):
            page.get_by_role("checkbox", name=re.compile(f"^{query}")).uncheck()
        expect(page.get_by_text("Still needed: transactions")).to_be_visible()
        expect(page.get_by_text("users")).to_have_count(0)
        page.locator("#pick-files").set_input_files(sorted((coffee / "transactions").glob("*.csv")))
        expect(page.get_by_text("All tables have their files.")).to_be_visible()
        page.get_by_label("Id of the job").fill("one-question")
        page.get_by_role("button", name="Send and watch").click()
        expect(page.locator("h1 + .state")).to_have_text("done", timeout=60_000)
    body = service.get("/v1/jobs/one-question/results/q1").body
    assert body == run("coffee", coffee, ["q1"])["q1"]


def send_one_table(page: Page, files: list[Path], job: str) -> None:
    page.get_by_role("radio", name=re.compile("coffee")).check()
    for query in ("q2", "q3", "q4"):
        page.get_by_role("checkbox", name=re.compile(f"^{query}")).uncheck()
    page.locator("#pick-files").set_input_files(files)
    expect(page.get_by_text("All tables have their files.")).to_be_visible()
    page.get_by_label("Id of the job").fill(job)
    page.get_by_role("button", name="Send and watch").click()


@pytest.mark.slow
def test_other_files_under_a_used_id_are_refused(
    browser: Browser, service: Running, coffee: Path, tmp_path: Path
) -> None:
    """A file of the same name and length, of which one digit differs."""
    file = sorted((coffee / "transactions").glob("*.csv"))[0]
    other = tmp_path / file.name
    content = file.read_bytes()
    other.write_bytes(content[:-3] + (b"7" if content[-3:-2] != b"7" else b"8") + content[-2:])
    with watched(browser, service.url) as found:
        page = found.open("#/new")
        send_one_table(page, [file], "used")
        expect(page.locator("h1 + .state")).to_have_text("done", timeout=60_000)
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.url) if request.method == "PUT" else None)
        with page.expect_request("**/tables/transactions/complete"):
            page.goto(f"{service.url}/#/new")
            send_one_table(page, [file], "used")
        assert not [url for url in sent if "/parts/" in url]
        page.goto(f"{service.url}/#/new")
        send_one_table(page, [other], "used")
        refused = "part 0 of table transactions was sent before with other content"
        expect(page.locator(".upload.failed")).to_contain_text(refused)
        found.complaints = [each for each in found.complaints if "409" not in each]


@pytest.mark.slow
def test_a_dataset_that_is_broken_is_shown_as_unavailable(browser: Browser, tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "from cauce.plan import TEXT, Column, Dataset, Relation, Table, Text\n"
        "things = Table('things', 'things.csv', {'name': Column('name', Text())})\n"
        "dataset = Dataset('own', (things,))\n"
        "@dataset.query(name=TEXT)\n"
        "def q1() -> Relation:\n"
        "    return things.select('name').in_input_order()\n"
    )
    with Running(tmp_path, "gateway", "--dataset", str(own)) as gateway:
        own.write_text("raise RuntimeError('out of order')\n")
        with watched(browser, gateway.url) as found:
            page = found.open("#/new")
            expect(page.get_by_role("radio", name=re.compile("own"))).to_be_disabled()
            expect(page.get_by_text("line 1: RuntimeError: out of order")).to_be_visible()
            expect(page.get_by_role("radio", name=re.compile("books"))).to_be_checked()
            found.assert_accessible()
