"""A real worker with a low limit of open files serves more jobs than it has descriptors for, and fails none of them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from cauce.datasets import load
from cauce.fabric.files.fabric import FilesFabric
from cauce.job.manifest import Manifest
from cauce.job.topology import Topology
from cauce.lab.chaos.worlds import world
from cauce.runner.local_client import Collect, Upload, create
from cauce.runner.sinks import Memory, prepare
from tests.chaos.running import until

JOBS = 60
FILES = 100

WORKER = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({files} // 2, {files}))
from pathlib import Path
from cauce.fabric.files.fabric import FilesFabric
from cauce.worker.process import work
code = work(FilesFabric(Path(sys.argv[1])), "1")
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
sys.exit(code)
"""


def test_more_jobs_than_file_descriptors_all_complete(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    world("coffee", 0).write(tmp_path / "data")
    prepared = prepare(load("coffee"), tmp_path / "data", ["q1"])
    topology = Topology(prepared.plan, 1)
    fabric = FilesFabric(tmp_path / "fabric")
    collects = []
    for number in range(JOBS):
        job = f"job-{number}"
        create(fabric, Manifest(job, "coffee", ("q1",), {}, 2, 1, prepared.plan.digest), topology)
        collects.append(Collect(fabric, job, topology, Memory()))
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER.format(files=FILES), str(tmp_path / "fabric")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # All jobs are open and wait for parts before the first one can complete.
        uploads = [
            Upload(fabric, f"job-{number}", topology, prepared.files, 1 << 20) for number in reversed(range(JOBS))
        ]
        for upload in uploads:
            while upload.step():
                pass
        until("the end of all jobs", lambda: _all_complete(collects) or worker.poll() is not None)
        assert worker.poll() is None, worker.communicate()[1]
    finally:
        worker.send_signal(signal.SIGTERM)
        output, errors = worker.communicate(timeout=20)
    assert worker.returncode == 0, errors
    assert int(output) == FILES, "the soft limit was raised to the hard one"


def _all_complete(collects: list[Collect]) -> bool:
    for each in collects:
        while each.step():
            pass
    return all(each.complete for each in collects)
