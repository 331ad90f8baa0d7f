"""Writes the bill of materials of Cauce: a CycloneDX 1.6 file with every package of `requirements.lock`, its version
and the digests of its files. `scripts/sbom.py [FILE]`, by default to standard output.

The same lock gives the same bytes: the file has no time of day, and its serial number is derived from its content.
The compiler is listed as optional: the wheel of Cauce works without it.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCK = "requirements.lock"


@dataclass
class Package:
    name: str
    version: str
    condition: str
    digests: list[str] = field(default_factory=list)

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{normal(self.name)}@{self.version}"


def normal(name: str) -> str:
    """The name of a package in its canonical spelling."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(text: str) -> Iterator[Package]:
    for entry in text.replace("\\\n", " ").splitlines():
        if pinned := re.match(r"([\w.-]+)==(\S+)\s*(?:;\s*(.*?)\s*)?(?=--hash|$)", entry):
            name, version, condition = pinned.groups()
            yield Package(name, version, condition or "", re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))


def component(package: Package, optional: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "scope": "optional" if optional else "required",
        "purl": package.purl,
        # One reference for each file of the package: which one is installed depends on the platform.
        "externalReferences": [
            {"type": "distribution", "url": package.purl, "hashes": [{"alg": "SHA-256", "content": digest}]}
            for digest in package.digests
        ],
    }
    if package.condition:
        made["properties"] = [{"name": "cauce:condition", "value": package.condition}]
    return made


def bill(project: dict[str, Any], lock: str) -> dict[str, Any]:
    packages = list(locked(lock))
    compiler = {normal(re.split(r"[^\w.-]", each)[0]) for each in project["optional-dependencies"]["build"]}
    purl = f"pkg:pypi/{project['name']}@{project['version']}"
    root = {
        "type": "application",
        "bom-ref": purl,
        "name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "licenses": [{"license": {"id": project["license"]}}],
        "purl": purl,
    }
    made = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": [component(each, normal(each.name) in compiler) for each in packages],
        "dependencies": [{"ref": purl, "dependsOn": [each.purl for each in packages]}],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(made, sort_keys=True))
    return {**made, "serialNumber": f"urn:uuid:{serial}"}


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = json.dumps(bill(project, (ROOT / LOCK).read_text(encoding="utf-8")), indent=1) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
