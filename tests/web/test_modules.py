"""The pure parts of the page, called in the browser with values of our own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from cauce.gateway.dashboard.web.assets import assets
from tests.service.running import Running
from tests.web.browsing import watched

CALL = """async ([address, name, given]) => {
  const found = await (await import(address))[name](...given);
  return found instanceof Map ? [...found] : found;
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, service: Running) -> Any:
    with watched(browser, service.url) as found:
        yield found.open("#/new")


def call(page: Page, module: str, name: str, *given: object) -> Any:
    return page.evaluate(CALL, [f"/assets/{assets().version}/{module}.js", name, list(given)])


def event(at: float, what: str, name: str, generation: str = "1.d.1") -> dict[str, object]:
    return {
        "at": at,
        "what": what,
        "name": name,
        "generation": generation,
        "reason": "",
        "job": "",
        "work": "",
        "after_s": None,
    }


def process(name: str, generation: str = "1.d.1") -> dict[str, object]:
    return {"name": name, "pid": 7, "generation": generation}


def spans(lane: dict[str, Any], kind: str = "lives") -> list[tuple[float, float | None]]:
    return [(each["from"], each["to"]) for each in lane[kind]]


def test_an_exit_ends_a_process_instance_and_a_restart_starts_the_next(page: Page) -> None:
    events = [event(10, "started", "worker-1"), event(20, "crashed", "worker-1"), event(21, "detected", "worker-1")]
    events.append(event(22, "restarted", "worker-1"))
    (lane,) = call(page, "lives", "lanesOf", [process("worker-1")], events, 0)
    assert spans(lane) == [(10, 20), (22, None)]
    assert [mark["what"] for mark in lane["marks"]] == ["started", "crashed", "detected", "restarted"]


def test_an_exited_process_has_no_open_instance(page: Page) -> None:
    events = [event(10, "started", "worker-1"), event(20, "crashed", "worker-1")]
    (lane,) = call(page, "lives", "lanesOf", [], events, 0)
    assert spans(lane) == [(10, 20)]


def test_a_process_seen_first_counts_from_the_start_of_the_timeline(page: Page) -> None:
    (lane,) = call(page, "lives", "lanesOf", [process("worker-1")], [], 5)
    assert spans(lane) == [(5, None)]


def test_a_term_ends_with_the_next_election_or_the_exit_of_the_leader(page: Page) -> None:
    events = [event(1, "elected", "doctor-3"), event(5, "crashed", "doctor-3"), event(6, "elected", "doctor-2")]
    events.append(event(9, "elected", "doctor-3"))
    lanes = call(page, "lives", "lanesOf", [process("doctor-2"), process("doctor-3")], events, 0)
    assert {lane["name"]: spans(lane, "terms") for lane in lanes} == {
        "doctor-2": [(6, 9)],
        "doctor-3": [(1, 5), (9, None)],
    }


def test_a_stopped_service_has_no_leader(page: Page) -> None:
    began, again = 1_800_000_000.0, 1_800_001_000.0
    events = [
        event(began, "elected", "doctor-1"),
        event(began + 50, "exited", "worker-1"),
        event(again, "elected", "doctor-1"),
    ]
    doctor = process("doctor-1", f"0..{int(again * 1000) - 500}")
    lanes = {lane["name"]: lane for lane in call(page, "lives", "lanesOf", [doctor], events, began - 10)}
    assert spans(lanes["doctor-1"], "terms") == [(began, began + 50), (again, None)]
    assert spans(lanes["doctor-1"]) == [(again - 0.5, None)]


def test_lanes_are_in_order_of_role_and_number(page: Page) -> None:
    names = ["worker-10", "worker-2", "gateway-1", "doctor-2", "worker-1@b", "doctor-1"]
    lanes = call(page, "lives", "lanesOf", [process(name) for name in names], [], 0)
    assert [lane["name"] for lane in lanes] == [
        "doctor-1",
        "doctor-2",
        "gateway-1",
        "worker-1@b",
        "worker-2",
        "worker-10",
    ]


def test_numbers_keep_every_digit(page: Page) -> None:
    rows = '[[12345678901234567890.10,"7 \\"8\\" 9"],[null,["1"]]]'
    text = f'{{"columns":["a","b"],"rows":{rows},"next":"0.2","complete":true,"total":2}}'
    found = call(page, "exact", "parsePage", text)
    assert found["rows"] == [[{"n": "12345678901234567890.10"}, '7 "8" 9'], [None, ["1"]]]
    assert (found["total"], found["next"], found["complete"]) == (2, "0.2", True)


def test_numbers_are_grouped_and_shortened_without_losing_their_size(page: Page) -> None:
    cases = {
        "1234567": "1,234,567",
        "-1234.50": "-1,234.50",
        "999": "999",
        "4.79126213592233": "4.7913",
        "12.500000000000000000": "12.5",
        "0.000012345678": "0.00001235",
        "0.99999": "1",
        "12345678901234567890.123456": "12,345,678,901,234,567,890.1235",
        "1.23456789e-7": "1.2346e-7",
    }
    assert {exact: call(page, "numbers", "readable", exact) for exact in cases} == cases
    assert call(page, "numbers", "readable", "100001", True) == "100001"


def test_ids_and_years_are_distinguished_from_quantities(page: Page) -> None:
    names = {"user_id": True, "movieId": True, "Airport Code": True, "year": True, "paid": False, "reviews": False}
    assert {name: call(page, "numbers", "isNaming", name) for name in names} == names


def test_labels_are_placed_on_their_lines_and_apart(page: Page) -> None:
    found = page.evaluate(
        """async ([address, paths, boxes]) => {
          const { placed } = await import(address);
          return [...placed(new Map(paths), boxes, { width: 40, height: 10 })];
        }""",
        [
            f"/assets/{assets().version}/labels.js",
            [[name, [[0, 0], [100, 0]]] for name in "abcdefg"],
            [{"x": 0, "y": -20, "width": 20, "height": 40}],
        ],
    )
    # Seven equal lines: there is room for two labels beside the box, the others are left out.
    assert 1 <= len(found) <= 2
    places = sorted(x for _, (x, _) in found)
    assert all(later - earlier >= 40 for earlier, later in pairwise(places))


def hint(kind: str, labels: list[str], values: list[str], **more: str) -> dict[str, object]:
    return {"kind": kind, "labels": labels, "values": values, "x": None, "y": None, "series": None, **more}


def test_rankings_become_bars_and_months_lines(page: Page) -> None:
    bars = call(page, "chart_choice", "choose", hint("bars", ["who"], ["n"]), ["who", "n"], [["a", 3], ["b", 2]])
    assert bars == {"kind": "bars", "labels": ["a", "b"], "series": [{"name": "n", "values": [3, 2]}]}
    rows = [["2024-02", "x", 2], ["2024-01", "x", 1], ["2024-01", "y", 5]]
    line = hint("line", ["s"], ["n"], x="month", series="s")
    lines = call(page, "chart_choice", "choose", line, ["month", "s", "n"], rows)
    assert lines["x"] == ["2024-01", "2024-02"]
    assert lines["series"] == [{"name": "y", "values": [5, None]}, {"name": "x", "values": [1, 2]}]


def test_a_table_alone_is_shown_where_no_chart_fits(page: Page) -> None:
    assert call(page, "chart_choice", "choose", None, ["a"], [["x"], ["y"]]) is None
    assert call(page, "chart_choice", "choose", hint("bars", ["a"], ["n"]), ["a", "n"], [["x", 1]]) is None
    odd = call(
        page, "chart_choice", "choose", hint("line", [], ["n"], x="month"), ["month", "n"], [["spring", 1], ["fall", 2]]
    )
    assert odd["kind"] == "bars"


def test_places_become_a_scatter(page: Page) -> None:
    given = hint("scatter", ["city"], [], x="lon", y="lat")
    found = call(page, "chart_choice", "choose", given, ["city", "lat", "lon"], [["a", 1.5, 2], ["b", 3, 4]])
    assert found["points"] == [{"x": 2, "y": 1.5, "label": "a"}, {"x": 4, "y": 3, "label": "b"}]


def test_files_are_matched_as_the_client_matches_them(page: Page) -> None:
    def fits(path: str, pattern: str) -> bool:
        return bool(call(page, "match", "fits", path, pattern))

    assert fits("users_202401.csv", "users/users_*.csv")
    assert fits("deep/down/users_1.csv.gz", "users/users_*.csv")
    assert fits("ratings.parquet", "ratings.csv")
    assert not fits("ratings_small.csv", "ratings.csv")
    assert not fits("users_1.txt", "users/users_*.csv")
    assert not fits("usersX1.csv", "users.1.csv")


def test_a_graph_is_laid_out_without_boxes_upon_each_other(page: Page) -> None:
    boxes = [{"id": name, "width": 100, "height": 40} for name in "abcdef"]
    lines = [{"id": f"{a}{b}", "from": a, "to": b} for a, b in ("ac", "bc", "cd", "ae", "df", "ef", "cf")]
    found = page.evaluate(
        """async ([address, boxes, lines]) => {
          const made = (await import(address)).layout(boxes, lines, { across: 50, down: 10 });
          return { boxes: [...made.boxes.values()], paths: [...made.paths], width: made.width, height: made.height };
        }""",
        [f"/assets/{assets().version}/layout.js", boxes, lines],
    )
    placed = {box["id"]: box for box in found["boxes"]}
    for line in lines:
        assert placed[line["from"]]["layer"] < placed[line["to"]]["layer"]
    for one in placed.values():
        assert one["x"] >= 0
        assert one["y"] >= -0.001
        for other in placed.values():
            apart = one["x"] + 100 <= other["x"] or one["y"] + 40 <= other["y"] + 0.001
            assert one is other or apart or other["x"] + 100 <= one["x"] or other["y"] + 40 <= one["y"] + 0.001
    for name, points in found["paths"]:
        assert points[0][0] == placed[name[0]]["x"] + 100
        assert points[-1][0] == placed[name[1]]["x"]


def job(name: str, **more: object) -> dict[str, object]:
    known = {
        "job": name,
        "owner": "ana",
        "dataset": "coffee",
        "on": "",
        "queries": ["q1"],
        "state": "done",
        "created": 5,
    }
    return {**known, **more}


def test_jobs_are_filtered_by_client_and_kept_dataset(page: Page) -> None:
    jobs = [job("a"), job("b", owner="eva"), job("c", dataset="sql", on="shop")]
    none = call(page, "job_filter", "noFilter")
    for change, wanted in (
        ({"owner": "eva"}, ["b"]),
        ({"dataset": "shop"}, ["c"]),
        ({"dataset": "coffee"}, ["a", "b"]),
    ):
        found = call(page, "job_filter", "matching", jobs, {**none, **change})
        assert sorted(each["job"] for each in found) == wanted


def test_a_filter_is_kept_in_the_address(page: Page) -> None:
    given = {**call(page, "job_filter", "noFilter"), "state": "failed", "text": "a b&c", "from": "2026-11-01"}
    query = call(page, "job_filter", "queryOf", given)
    assert call(page, "job_filter", "filterOf", query) == given


def test_the_health_of_a_service_names_what_is_missing(page: Page) -> None:
    def running(name: str, state: str = "running") -> dict[str, object]:
        return {"name": name, "role": name.split("-")[0], "state": state, "pid": int(state == "running")}

    def word(*processes: dict[str, object], leader: str = "doctor-1") -> str:
        return str(call(page, "health", "healthOf", list(processes), leader)["word"])

    doctor, gateway = running("doctor-1"), running("gateway-1")
    assert word(doctor, gateway, running("worker-1")) == "Healthy"
    assert word(doctor, gateway, running("worker-1"), running("worker-2", "exited")) == "Degraded"
    assert word(doctor, gateway, running("worker-1", "stopped")) == "No worker runs"
    assert word(doctor, gateway, running("worker-1"), leader="") == "Electing a leader"


def test_a_layout_avoids_crossings_that_can_be_avoided(page: Page) -> None:
    # Two chains whose boxes are given in opposite orders.
    boxes = [{"id": name, "width": 100, "height": 40} for name in ("a", "b", "d", "c", "e", "f")]
    lines = [{"id": f"{a}{b}", "from": a, "to": b} for a, b in ("ac", "bd", "ce", "df")]
    found = page.evaluate(
        """async ([address, boxes, lines]) => {
          const made = (await import(address)).layout(boxes, lines, { across: 50, down: 10 });
          return Object.fromEntries([...made.boxes].map(([name, box]) => [name, box.y]));
        }""",
        [f"/assets/{assets().version}/layout.js", boxes, lines],
    )
    assert (found["a"] < found["b"]) == (found["c"] < found["d"]) == (found["e"] < found["f"])
    assert found["a"] == pytest.approx(found["c"]) == pytest.approx(found["e"])


def test_numbers_are_moved_as_little_as_their_order_allows(page: Page) -> None:
    wishes = [{"value": value, "weight": 1} for value in (3, 1, 2, 9)]
    assert call(page, "layout_place", "increasing", wishes) == [2, 2, 2, 9]
