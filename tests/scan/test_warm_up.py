"""Every kernel is compiled when an environment is set up, and is part of a wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cauce.scan

ROOT = Path(cauce.scan.__file__).parent
LOADED = "import cauce.scan.warm_up, sys; print(*(name for name in sys.modules if name.startswith('cauce.')))"


def test_all_modules_with_kernels_are_loaded() -> None:
    declaring = {
        ".".join(("cauce.scan", *file.relative_to(ROOT).with_suffix("").parts))
        for file in ROOT.rglob("*.py")
        if any(line.startswith(("@kernel(", "@cell_kernel(")) for line in file.read_text().splitlines())
    }
    found = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout.split()
    assert declaring - set(found) == set()
