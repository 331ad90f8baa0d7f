"""The plan of a job: moved, zoomed, and a stage in detail."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.service.running import Running
from tests.web.browsing import Watched, watched


def open_plan(found: Watched, job: str, more: str = "") -> Page:
    page = found.open(f"#/job/{job}/plan{more}")
    expect(page.locator(".graph .stage").first).to_be_visible()
    return page


def view(page: Page) -> list[float]:
    return [float(part) for part in (page.locator(".graph").get_attribute("viewBox") or "").split()]


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="Stage", exact=True)


def test_the_plan_is_zoomed_by_keys_wheel_and_buttons(browser: Browser, service: Running, river_job: str) -> None:
    with watched(browser, service.url) as found:
        page = open_plan(found, river_job)
        window = page.get_by_role("region", name="Picture of the plan")
        widths = [view(page)[2]]
        window.focus()
        page.keyboard.press("+")
        widths.append(view(page)[2])
        window.hover()
        page.keyboard.down("Control")
        page.mouse.wheel(0, -200)
        page.keyboard.up("Control")
        page.wait_for_function(f"parseFloat(document.querySelector('.graph').viewBox.baseVal.width) < {widths[-1] - 1}")
        widths.append(view(page)[2])
        page.get_by_role("button", name="Zoom in").click()
        widths.append(view(page)[2])
        assert widths == sorted(widths, reverse=True)
        assert len(set(widths)) == 4
        page.get_by_role("button", name="Readable size").click()
        assert view(page)[2] == widths[0]


def test_the_wheel_alone_scrolls_the_page(browser: Browser, service: Running, river_job: str) -> None:
    with watched(browser, service.url) as found:
        page = open_plan(found, river_job)
        before = view(page)
        page.set_viewport_size({"width": 1280, "height": 500})
        page.get_by_role("region", name="Picture of the plan").hover()
        page.mouse.wheel(0, 200)
        page.wait_for_function("scrollY > 0")
        assert view(page)[2] == before[2]


def test_the_plan_is_dragged_and_a_drag_chooses_no_stage(browser: Browser, service: Running, river_job: str) -> None:
    with watched(browser, service.url) as found:
        page = open_plan(found, river_job)
        box = page.locator(".graph .stage .box").first.bounding_box()
        assert box is not None
        before = view(page)
        page.mouse.move(box["x"] + 20, box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] - 80, box["y"] - 10, steps=4)
        page.mouse.up()
        moved = view(page)
        assert moved[0] > before[0]
        assert moved[1] > before[1]
        expect(panel(page)).to_be_hidden()


def test_a_stage_shows_its_numbers_and_has_an_address(browser: Browser, service: Running, done: str) -> None:
    graph = service.get(f"/v1/jobs/{done}/graph").json()
    stages = graph["stages"]
    assert isinstance(stages, list)
    scan = stages[0]
    with watched(browser, service.url) as found:
        page = open_plan(found, done)
        page.locator('.graph [data-stage="0"]').click()
        expect(panel(page)).to_contain_text(scan["name"])
        expect(panel(page).locator(".numbers")).to_contain_text(f"Rows in{scan['rows']:,}")
        for name in ("Bytes in", "Busy", "Waiting for input", "Memory, at most seen", "Temporary files"):
            expect(panel(page).locator(".numbers")).to_contain_text(name)
        expect(panel(page).locator(".tasks tbody tr")).to_have_count(scan["tasks"])
        assert page.url.endswith(f"#/job/{done}/plan/0")
        found.picture("stage")
        page.get_by_role("button", name="Close the stage").click()
        expect(panel(page)).to_be_hidden()
        page.go_back()
        expect(panel(page)).to_contain_text(scan["name"])


def test_every_stage_of_a_done_job_is_shown_as_finished(browser: Browser, service: Running, done: str) -> None:
    """Those without tasks too: their pages are written by the stages before them."""
    stages = service.get(f"/v1/jobs/{done}/graph").json()["stages"]
    assert isinstance(stages, list)
    assert 0 in [stage["tasks"] for stage in stages]
    with watched(browser, service.url) as found:
        page = open_plan(found, done)
        expect(page.locator(".graph .stage.finished")).to_have_count(len(stages))


def test_stages_are_reached_and_opened_by_keyboard(browser: Browser, service: Running, done: str) -> None:
    with watched(browser, service.url) as found:
        page = open_plan(found, done)
        page.get_by_role("region", name="Picture of the plan").focus()
        page.keyboard.press("Tab")
        expect(page.locator('.graph [data-stage="0"]')).to_be_focused()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(panel(page).locator(".tasks, .numbers").first).to_be_visible()
        chosen = page.locator('.graph [aria-pressed="true"]')
        expect(chosen).to_have_count(1)
        expect(chosen).not_to_have_attribute("data-stage", "0")
        panel(page).get_by_role("button", name="Close the stage").focus()
        page.keyboard.press("Escape")
        expect(panel(page)).to_be_hidden()


def test_the_stage_that_failed_shows_its_error_and_task(browser: Browser, service: Running, failed_job: str) -> None:
    with watched(browser, service.url) as found:
        page = open_plan(found, failed_job, "/0")
        expect(panel(page).get_by_role("alert")).to_contain_text("strict_cast")
        expect(panel(page).locator("tr.failed th")).to_have_text(re.compile("^0 failed"))


def test_the_panel_stays_below_the_plan_on_a_phone(browser: Browser, service: Running, done: str) -> None:
    with watched(browser, service.url, narrow=True) as found:
        page = open_plan(found, done, "/0")
        expect(panel(page).locator(".tasks")).to_be_visible()
        plan, shown = page.locator(".viewport").bounding_box(), panel(page).bounding_box()
        assert plan is not None
        assert shown is not None
        assert shown["y"] >= plan["y"] + plan["height"]
        found.assert_fits()


@pytest.mark.parametrize("narrow", [False, True])
def test_a_chosen_stage_is_in_sight(browser: Browser, service: Running, done: str, narrow: bool) -> None:
    """The last stage is beyond the right end of the window, which the panel makes narrower still."""
    with watched(browser, service.url, narrow=narrow) as found:
        page = open_plan(found, done)
        last = max(int(str(box.get_attribute("data-stage"))) for box in page.locator(".graph .stage").all())
        page = open_plan(found, done, f"/{last}")
        expect(panel(page)).to_be_visible()
        chosen = page.locator(f".graph [data-stage='{last}']")
        page.wait_for_function(
            """([box, frame]) => {
              const [inner, outer] = [box, frame].map((each) => each.getBoundingClientRect());
              return inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top;
            }""",
            arg=[chosen.element_handle(), page.locator(".viewport").element_handle()],
        )
