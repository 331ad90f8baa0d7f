"""The files that are measured on: those the user has, or generated ones that are kept for the next time."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench.measure import warm
from cauce.cli.lab.demo import FLIGHTS_SHARE
from cauce.errors import JobFailed
from cauce.process.starting import module_command

SEED = 0


def given(folder: Path, dataset: str) -> Path:
    """A user's files: in the folder itself, or in one of the dataset's name below it."""
    below = folder / dataset
    data = below if below.is_dir() else folder
    warm(data)
    return data


def generated(cache: Path, dataset: str, scale: float) -> Path:
    """Files of a scale, made unless they are in the cache. Scale 1 is about 3 GB, which for flights is a tenth."""
    data = cache / f"{dataset}-{scale:g}"
    if not data.is_dir():
        # Under another name until it is whole: a broken attempt must not be taken for data.
        making = cache / f"{data.name}.{os.getpid()}"
        share = FLIGHTS_SHARE if dataset == "flights" else 1.0
        command = module_command("cauce", "generate", dataset, "--out", str(making))
        command += ["--scale", repr(scale * share), "--seed", str(SEED)]
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            raise JobFailed(f"could not generate {dataset} in {cache}: see above")
        making.rename(data)
    warm(data)
    return data


def size_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
