"""The doctor process."""

from __future__ import annotations

import resource
from pathlib import Path

from cauce.process.limits import OPEN_FILES
from tests.chaos.cluster import Cluster
from tests.service.limits import FEW_FILES


def test_doctors_raise_their_limit_of_open_files(tmp_path: Path) -> None:
    """A doctor needs a descriptor for each process that it monitors."""
    with Cluster(tmp_path, workers=1, gateways=1, doctors=1, open_files=FEW_FILES) as cluster:
        cluster.until_well()
        soft, hard = resource.prlimit(cluster.alive()["doctor-1"].pid, resource.RLIMIT_NOFILE)
    assert soft > FEW_FILES
    assert soft == (OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard))
