"""The input files of measurements: those of the user, or generated ones in a cache."""

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
    """The user's files: in the folder itself, or in its subfolder with the name of the dataset."""
    below = folder / dataset
    data = below if below.is_dir() else folder
    warm(data)
    return data


def generated(cache: Path, dataset: str, scale: float) -> Path:
    """Files of a scale, generated unless cached. Scale 1 is about 3 GB; for flights, that is a tenth of the dataset."""
    data = cache / f"{dataset}-{scale:g}"
    if not data.is_dir():
        # Renamed when complete: a cached folder is never partial.
        unfinished = cache / f"{data.name}.{os.getpid()}"
        share = FLIGHTS_SHARE if dataset == "flights" else 1.0
        command = module_command("cauce", "generate", dataset, "--out", str(unfinished))
        command += ["--scale", repr(scale * share), "--seed", str(SEED)]
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            raise JobFailed(f"could not generate {dataset} in {cache}; its error is printed above")
        unfinished.rename(data)
    warm(data)
    return data


def size_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
