"""A job of a user's own dataset with long, non-ASCII names: its plan, answers, failure and upload, also on a phone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service.running import Running
from tests.web import river
from tests.web.browsing import Watched, watched

OVERLAPS = """texts => {
  const boxes = texts.filter(each => each.textContent).map(each => [each.textContent, each.getBoundingClientRect()]);
  const found = [];
  boxes.forEach(([one, a], index) => boxes.slice(index + 1).forEach(([other, b]) => {
    const across = a.left < b.right - 1 && b.left < a.right - 1;
    if (across && a.top < b.bottom - 1 && b.top < a.bottom - 1) found.push([one, other]);
  }));
  return found;
}"""
OUTSIDE = """boxes => boxes.flatMap(box => {
  const frame = box.querySelector('.box').getBoundingClientRect();
  const texts = [...box.querySelectorAll('text')];
  return texts.filter(each => each.getBoundingClientRect().right > frame.right).map(each => each.textContent);
})"""
IN_SIGHT = """boxes => {
  const frame = document.querySelector('.viewport').getBoundingClientRect();
  return boxes.map(box => box.querySelector('.box').getBoundingClientRect())
    .filter(box => box.left < frame.left || box.right > frame.right
      || box.top < frame.top || box.bottom > frame.bottom);
}"""
ALL_HINTED = """() => [...document.querySelectorAll('.scroll')].every(each => {
  const hint = each.closest('.scroll-frame').querySelector('.scroll-hint');
  return each.scrollWidth <= each.clientWidth + 2 || getComputedStyle(hint).display !== 'none';
})"""


def open_job(found: Watched, job: str) -> Page:
    page = found.open(f"#/job/{job}/plan")
    expect(page.locator(".graph .stage").first).to_be_visible()
    return page


def open_tab(page: Page, query: str) -> None:
    page.get_by_role("tab", name="Results").click()
    page.get_by_role("tab", name=re.compile(f"^{query}")).click()
    expect(page.locator("#tab-panel table.rows tbody tr").first).to_be_visible()


def test_names_of_queries_stand_beside_their_questions(browser: Browser, service: Running) -> None:
    with watched(browser, service.url) as found:
        page = found.open("#/new")
        page.get_by_role("radio", name=re.compile(river.NAME)).check()
        expect(page.locator(".query")).to_have_count(4)
        assert page.locator(".query strong, .query span").evaluate_all(OVERLAPS) == []
        expect(page.get_by_label("Id of the job")).to_have_value(re.compile(r"^river_measurements.{0,50}$"))
        assert len(page.get_by_label("Id of the job").input_value()) <= 64
        found.screenshot("river-new")


def test_the_plan_is_moved_or_fitted_and_no_label_covers_another(
    browser: Browser, service: Running, river_job: str
) -> None:
    with watched(browser, service.url) as found:
        page = open_job(found, river_job)
        assert page.locator(".graph .stage").count() > 20
        hint = page.get_by_text("The plan is larger than this window")
        expect(hint).to_be_visible()
        assert page.locator(".graph text").evaluate_all(OVERLAPS) == []
        assert page.locator(".graph .stage").evaluate_all(OUTSIDE) == []
        long = page.locator(".graph .stage").filter(has_text="scan daily_readings_of")
        expect(long.locator("title")).to_have_text(re.compile("scan daily_readings_of_every_station_as_they_were"))
        page.get_by_role("button", name="Whole plan").click()
        expect(hint).to_be_hidden()
        assert page.locator(".graph .stage").evaluate_all(IN_SIGHT) == []
        page.get_by_role("button", name="Zoom in").click()
        expect(hint).to_be_visible()
        found.screenshot("river-job")


@pytest.mark.slow
def test_a_done_job_shows_nothing_waiting(browser: Browser, service: Running, river_job: str, done: str) -> None:
    with watched(browser, service.url) as found:
        for job in (river_job, done):
            page = open_job(found, job)
            expect(page.locator("h1")).to_have_text(job)
            assert [text for text in page.locator(".graph text").all_text_contents() if text.endswith(" waiting")] == []


@pytest.mark.slow
def test_bars_show_the_first_rows_of_the_whole_answer(browser: Browser, service: Running, river_job: str) -> None:
    with watched(browser, service.url) as found:
        page = open_job(found, river_job)
        open_tab(page, river.BY_STATION)
        expect(page.get_by_text("The chart shows the first 200 of 1,204 rows.")).to_be_visible()
        bars = page.locator("#tab-panel .chart .bar")
        expect(bars).to_have_count(200)
        wanted = service.get(f"/v1/jobs/{river_job}/results/{river.BY_STATION}").body.decode().splitlines()[200]
        expect(bars.last.locator("title")).to_have_text(re.compile(re.escape(wanted.split(",")[0])))
        assert page.locator("#tab-panel .chart text").evaluate_all(OVERLAPS) == []
        page.locator("#tab-panel").get_by_role("button", name="Next").click()
        expect(page.locator("#tab-panel .bar [role=status]")).to_contain_text("26–50")
        expect(bars).to_have_count(200)


@pytest.mark.slow
def test_labels_of_an_axis_stand_apart(browser: Browser, service: Running, river_job: str) -> None:
    with watched(browser, service.url) as found:
        page = open_job(found, river_job)
        open_tab(page, river.BY_MONTH)
        labels = page.locator("#tab-panel .x-label")
        expect(labels.first).to_be_visible()
        assert labels.count() > 4
        assert labels.evaluate_all(OVERLAPS) == []
        found.screenshot("river-lines")


@pytest.mark.slow
def test_numbers_are_grouped_and_their_exact_values_are_kept(
    browser: Browser, service: Running, river_job: str
) -> None:
    first = service.get(f"/v1/jobs/{river_job}/results/{river.BY_STATION}").body.decode().splitlines()[1].split(",")
    with watched(browser, service.url, permissions=["clipboard-read", "clipboard-write"]) as found:
        page = open_job(found, river_job)
        open_tab(page, river.BY_STATION)
        cells = page.locator("#tab-panel table.rows tbody tr").first.locator("td")
        _, station_id, year, visits, flow = first
        assert cells.all_text_contents()[1:4] == [station_id, year, f"{int(visits):,}"]
        expect(cells.nth(3)).to_have_attribute("title", visits)
        shown = cells.nth(4).text_content() or ""
        assert len(shown.partition(".")[2]) <= 4
        assert abs(float(shown) - float(flow)) <= 0.00005
        page.locator("#tab-panel table.rows tbody tr").first.evaluate(
            "row => getSelection().selectAllChildren(row.parentNode)"
        )
        page.keyboard.press("Control+C")
        copied = page.evaluate("navigator.clipboard.readText()").splitlines()[0].split("\t")
        assert copied == first


def test_a_failed_job_shows_its_error_and_the_stage_that_failed(
    browser: Browser, service: Running, failed_job: str
) -> None:
    with watched(browser, service.url) as found:
        page = open_job(found, failed_job)
        expect(page.locator(".why")).to_contain_text("strict_cast")
        colours = page.evaluate(
            """() => { const style = getComputedStyle(document.querySelector('.why'));
              const bad = getComputedStyle(document.querySelector('.state.failed'));
              return [style.backgroundColor === bad.backgroundColor, style.color === bad.color]; }"""
        )
        assert colours == [True, True]
        expect(page.locator(".stage.failed")).to_have_count(1)
        expect(page.locator(".stage.failed .stage-name")).to_have_text(re.compile("^scan daily_readings"))
        expect(page.locator(".graph")).to_have_attribute("aria-label", re.compile("Failed: scan daily_readings"))
        found.assert_accessible()
        found.screenshot("failed-job")
        page.get_by_role("tab", name="Results").click()
        expect(page.get_by_role("tab", name=re.compile("not computed"))).to_be_visible()
        page.get_by_role("button", name="Remove").click()
        expect(page.get_by_role("dialog")).to_contain_text(f"Remove job {failed_job}?")
        expect(page.get_by_role("dialog")).not_to_contain_text("Cancel")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    assert service.state(failed_job) == "failed"


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["light", "dark"])
def test_long_names_fit_a_phone(
    browser: Browser, service: Running, river_job: str, failed_job: str, dark: bool
) -> None:
    look = "dark" if dark else "light"
    with watched(browser, service.url, narrow=True, dark=dark) as found:
        for name, job in (("river", river_job), ("failed", failed_job)):
            page = open_job(found, job)
            found.assert_fits()
            expect(page.get_by_text("The plan is larger than this window")).to_be_visible()
            page.get_by_text("The same as a table").click()
            page.wait_for_function(ALL_HINTED)
            found.screenshot(f"{name}-phone-{look}")
        page = found.open("#/jobs")
        expect(page.locator("table.jobs tbody tr").first).to_be_visible()
        found.assert_fits()
        found.screenshot(f"jobs-phone-{look}", whole=False)
        page = found.open("#/new")
        page.get_by_role("radio", name=re.compile(river.NAME)).check()
        found.assert_fits()
        assert page.locator(".query strong, .query span").evaluate_all(OVERLAPS) == []
        found.screenshot(f"new-phone-{look}")


def choose_files(page: Page, *paths: Path) -> None:
    page.get_by_role("radio", name=re.compile(river.NAME)).check()
    page.locator("#pick-files").set_input_files(list(paths))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "The file is empty."),
        pytest.param(bytes(range(256)) * 20, "This is a binary file", marks=pytest.mark.slow),
        pytest.param("ключ,值\n1,2\n".encode(), "None of the columns of table gauging", marks=pytest.mark.slow),
        pytest.param(b'"station_id,year\n', "broken quotes", marks=pytest.mark.slow),
    ],
    ids=["empty", "binary", "wrong-header", "quotes"],
)
def test_a_file_that_cannot_be_sent_is_reported_beside_its_name(
    browser: Browser, service: Running, river_files: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    wrong = tmp_path / "stations.csv"
    wrong.write_bytes(content)
    with watched(browser, service.url) as found:
        page = found.open("#/new")
        choose_files(page, wrong, river_files / "readings.csv")
        line = page.locator(".files li").filter(has_text="stations.csv")
        expect(line.locator(".error")).to_contain_text(message)
        expect(page.get_by_role("button", name="Send and watch")).to_be_disabled()
        found.assert_accessible()
        page.get_by_role("button", name="Leave out stations.csv").click()
        choose_files(page, river_files / "stations.csv")
        expect(page.get_by_text("All tables have their files.")).to_be_visible()
        expect(page.get_by_role("button", name="Send and watch")).to_be_enabled()


@pytest.mark.slow
def test_a_refused_upload_is_reported_until_it_is_closed(
    browser: Browser, service: Running, river_files: Path, tmp_path: Path
) -> None:
    lacking = tmp_path / "stations.csv"
    lacking.write_text("station_id,river\n100001,Elbe\n", encoding="utf-8")
    with watched(browser, service.url) as found:
        page = found.open("#/new")
        choose_files(page, lacking, river_files / "readings.csv")
        expect(page.locator(".files .warning")).to_contain_text("Columns missing in the first line: station_name, year")
        page.get_by_label("Id of the job").fill("refused-upload")
        page.get_by_label("Id of the job").press("Enter")
        expect(page.locator(".upload.failed")).to_contain_text("The upload of refused-upload failed")
        expect(page.locator(".upload.failed")).to_contain_text("stations.csv")
        found.screenshot("upload-refused", whole=False)
        page.locator(".upload.failed").get_by_role("button", name="Close").click()
        expect(page.locator(".upload.failed")).to_have_count(0)
        found.complaints.clear()
