"""The browser cuts files where the Python client cuts them, however broken they are."""

from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from cauce.errors import WrongColumns
from cauce.gateway.dashboard.web.assets import assets
from cauce.scan.csv.cut import cut_ranges, read_header
from tests.e2e.hostile_rows import write_hostile_rows
from tests.service.running import Running
from tests.web.browsing import watched

CUT = """async ([address, cases]) => {
  const { Cutter } = await import(address);
  const one = async (given) => {
    const bytes = Uint8Array.from(atob(given.data), (letter) => letter.charCodeAt(0));
    let at = 0;
    const read = async () => {
      if (at >= bytes.length) return null;
      at += given.window;
      return bytes.slice(at - given.window, at);
    };
    const options = { limit: given.limit, windowBytes: given.window };
    const cutter = new Cutter(read, given.delimiter, options);
    try {
      const header = await cutter.header("the file");
      const pieces = [];
      for await (const piece of cutter.pieces(given.part)) {
        pieces.push([piece.start, piece.start + piece.data.length, piece.firstLine]);
      }
      return { header: [header.cells, header.end, header.lines], pieces };
    } catch (problem) {
      return { problem: problem.constructor.name };
    }
  };
  return Promise.all(cases.map(one));
}"""

ALPHABET = ["a", "b", ",", ",", '"', '"', '""', "\n", "\n", "\r\n", "\r", ";", "é", '","', '"\n', "\ufeff"]
CASES = 600


def random_text(chance: random.Random) -> bytes:
    header = chance.choice(["a,b\n", "a;b\r\n", '"a\n",b\n', "\n\na,b\n", "\ufeffx,y\n", "", "a,b"]).encode()
    if chance.random() < 0.1:
        # Names in Windows-1252, one of them with a byte that this encoding leaves undefined.
        header = chance.choice([b"A\xf1o,\x80\n", b'"\xe9\x81",b\n'])
    body = "".join(chance.choice(ALPHABET) for _ in range(chance.randrange(80)))
    return header + body.encode()


def by_python(path: Path, case: dict[str, object]) -> dict[str, object]:
    delimiter, limit, part = str(case["delimiter"]), int(str(case["limit"])), int(str(case["part"]))
    try:
        header = read_header(path, delimiter)
        ranges = cut_ranges(path, delimiter=delimiter, part_bytes=part, limit=limit)
        pieces = [[each.start, each.end, each.first_line] for each in ranges]
    except WrongColumns:
        return {"problem": "BadFile"}
    return {"header": [list(header.cells), header.end, header.lines], "pieces": pieces}


def case_of(data: bytes, delimiter: str, part: int, limit: int, window: int) -> dict[str, object]:
    encoded = base64.b64encode(data).decode()
    return {"data": encoded, "delimiter": delimiter, "part": part, "limit": limit, "window": window}


def test_nasty_files_are_cut_alike(browser: Browser, service: Running, tmp_path: Path) -> None:
    chance = random.Random(17)
    texts = [random_text(chance) for _ in range(CASES)]
    cases = [
        case_of(text, chance.choice(",;"), chance.choice([1, 7, 20, 1000]), chance.choice([3, 10, 2**24]), window)
        for text, window in zip(texts, (chance.choice([1, 3, 16, 4096]) for _ in texts), strict=True)
    ]
    wanted: list[dict[str, object]] = []
    for text, case in zip(texts, cases, strict=True):
        (tmp_path / "file.csv").write_bytes(text)
        wanted.append(by_python(tmp_path / "file.csv", case))
    with watched(browser, service.url) as found:
        page = found.open()
        cut = page.evaluate(CUT, [f"/assets/{assets().version}/cut.js", cases])
    assert sum("pieces" in each for each in wanted) > CASES // 2
    for text, case, ours, theirs in zip(texts, cases, wanted, cut, strict=True):
        assert theirs == ours, (text, case)


@pytest.mark.slow
def test_real_files_are_cut_alike(browser: Browser, service: Running, tmp_path: Path) -> None:
    cases: list[dict[str, object]] = []
    wanted: list[dict[str, object]] = []
    for dataset in ("books", "movies", "coffee"):
        write_hostile_rows(dataset, tmp_path / dataset, 5, 60)
        for path in sorted((tmp_path / dataset).rglob("*.csv")):
            case = case_of(path.read_bytes(), ",", 700, 2**24, 256)
            cases.append(case)
            wanted.append(by_python(path, case))
    with watched(browser, service.url) as found:
        cut = found.open().evaluate(CUT, [f"/assets/{assets().version}/cut.js", cases])
    assert cut == wanted
    assert sum(len(each["pieces"]) for each in cut) > 20
