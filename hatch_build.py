"""Two steps of the wheel's build: it compiles the kernels, so that an installed wheel needs no compiler, and writes the
bill of materials (SBOM)."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "cauce/scan/native/compiled"
# The libraries call nothing but memcpy and its like, so they run with every glibc that the packages run with.
TAGS = {"x86_64": "py3-none-manylinux_2_17_x86_64", "aarch64": "py3-none-manylinux_2_17_aarch64"}


class KernelHook(BuildHookInterface[Any]):
    """Adds the compiled kernels to a wheel. An editable installation compiles them on their first call instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        if platform.system() != "Linux" or platform.machine() not in TAGS:
            raise RuntimeError(f"wheels are not built for {platform.system()} on {platform.machine()}")
        self._made = tempfile.TemporaryDirectory()
        kernels, materials = Path(self._made.name, "kernels"), Path(self._made.name, "cauce.cdx.json")
        self._run("-m", "cauce.scan.native.bundling", str(kernels))
        for path in sorted(kernels.iterdir()):
            build_data["force_include"][str(path)] = f"{PLACE}/{path.name}"
        self._run(str(Path(self.root, "scripts", "sbom.py")), str(materials))
        build_data["sbom_files"].append(str(materials))
        build_data["pure_python"] = False
        build_data["tag"] = TAGS[platform.machine()]

    def _run(self, *arguments: str) -> None:
        path = os.pathsep.join(filter(None, [str(Path(self.root, "src")), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run([sys.executable, *arguments], env=environment, check=True)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_made"):
            self._made.cleanup()
