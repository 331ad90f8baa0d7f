"""The bill of materials that `scripts/sbom.py` writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from scripts.sbom import bill, locked

ROOT = Path(__file__).parents[1]
LOCK = (
    "first==1.0 \\\n    --hash=sha256:" + "a" * 64 + " \\\n    --hash=sha256:" + "b" * 64 + "\n"
    "Second_One==2.0 ; sys_platform == 'win32' \\\n    --hash=sha256:" + "c" * 64 + "\n"
)
PROJECT = {
    "name": "cauce", "version": "9.9", "description": "text", "license": "Apache-2.0",
    "optional-dependencies": {"build": ["first>=1,<2"]},
}  # fmt: skip


def test_every_locked_package_is_read_with_its_digests_and_condition() -> None:
    first, second = locked(LOCK)
    assert (first.name, first.version, first.condition, first.digests) == ("first", "1.0", "", ["a" * 64, "b" * 64])
    assert (second.purl, second.condition) == ("pkg:pypi/second-one@2.0", "sys_platform == 'win32'")


def test_components_of_the_compiler_are_optional() -> None:
    scopes = {each["name"]: each["scope"] for each in bill(PROJECT, LOCK)["components"]}
    assert scopes == {"first": "optional", "Second_One": "required"}


def test_the_same_lock_gives_the_same_serial_number() -> None:
    assert bill(PROJECT, LOCK) == bill(PROJECT, LOCK)
    assert bill(PROJECT, LOCK)["serialNumber"] != bill(PROJECT, LOCK.replace("1.0", "1.1"))["serialNumber"]


def test_the_file_has_the_fields_that_readers_require() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts/sbom.py"], capture_output=True, text=True, check=True)
    made = json.loads(done.stdout)
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    references = [each["bom-ref"] for each in made["components"]]
    assert len(references) == len(set(references)) > 20
    assert made["dependencies"] == [{"ref": made["metadata"]["component"]["bom-ref"], "dependsOn": references}]
