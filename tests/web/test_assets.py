"""The dashboard's files: small, all named in the page, and nothing from elsewhere."""

from __future__ import annotations

import gzip
import re
from importlib.resources import files

from cauce.gateway.dashboard.web.assets import assets

FIRST_LOAD_BYTES = 300_000
LONGEST_MODULE = 200


def test_the_first_load_is_small() -> None:
    held = assets()
    assert len(held.shell.packed) + sum(len(each.packed) for each in held.files.values()) < FIRST_LOAD_BYTES


def test_every_file_is_named_in_the_page() -> None:
    held = assets()
    shell = held.shell.data.decode()
    for name in held.files:
        assert f'="/assets/{held.version}/{name}"' in shell
    assert "VERSION" not in shell
    assert "PRELOADS" not in shell


def test_nothing_is_fetched_from_elsewhere_and_nothing_is_inline() -> None:
    held = assets()
    shell = held.shell.data.decode()
    everything = shell + "".join(each.data.decode() for each in held.files.values())
    elsewhere = set(re.findall(r"https?://[^\s\"'`)]+", everything)) - {"http://www.w3.org/2000/svg"}
    assert elsewhere == set()
    assert re.findall(r"<script(?![^>]*\ssrc=)", shell) == []
    assert re.findall(r"\sstyle=|\son[a-z]+=|<style", shell) == []


def test_no_module_puts_text_in_as_markup() -> None:
    for name, each in assets().files.items():
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert way not in each.data.decode(), f"{name} uses {way}"


def test_imports_lead_to_files_that_are_there() -> None:
    held = assets()
    for name, each in held.files.items():
        for found in re.findall(r'from "\./([^"]+)"', each.data.decode()):
            assert found in held.files, f"{name} imports {found}"


def test_modules_are_small() -> None:
    for each in files("cauce.gateway.dashboard.web").joinpath("static").iterdir():
        if each.name.endswith(".js"):
            assert len(each.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE, each.name


def test_the_compressed_form_is_the_same() -> None:
    for each in (assets().shell, *assets().files.values()):
        assert gzip.decompress(each.packed) == each.data
