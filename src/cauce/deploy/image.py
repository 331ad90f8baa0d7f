"""The image that all processes of the service run in: a folder that holds all that its Dockerfile asks for.

It is built from that folder alone, so no secret can get into it.
"""

from __future__ import annotations

from pathlib import Path

from cauce.deploy.files import File
from cauce.errors import UsageError

FOLDER = "image"
LOCK = "requirements.lock"
STATE = "/var/lib/cauce"
CACHE = "/var/cache/cauce"
USER_ID = 10001
ALIVE = "cauce-alive"
WAIT = "cauce-wait"

DOCKERFILE = f"""\
# The image of Cauce: one for gateways, workers and doctors. Built from this folder alone.
FROM python:3.11-slim

ENV PYTHONPATH=/opt/cauce PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1 XDG_CACHE_HOME={CACHE}

COPY {LOCK} /opt/{LOCK}
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes --only-binary :all: -r /opt/{LOCK}

RUN useradd --uid {USER_ID} --user-group --home-dir {STATE} --shell /usr/sbin/nologin cauce \\
    && install --directory --owner cauce --group cauce --mode 700 {STATE} {CACHE}

COPY bin /usr/local/bin
COPY src /opt/cauce
# Kernels are compiled for the processor of this machine. Where another one runs the image, they are compiled once more,
# into {CACHE}.
RUN python -m compileall -q /opt/cauce \\
    && python -c "from cauce.sentiment.warm import compile_kernels; compile_kernels()" \\
    && chmod -R a+rX /opt/cauce

USER {USER_ID}:{USER_ID}
WORKDIR {STATE}
EXPOSE 8080
ENTRYPOINT ["cauce"]
"""

COMMAND = """\
#!/bin/sh
exec python -m cauce "$@"
"""

ALIVE_SCRIPT = """\
#!/bin/sh
# Whether the main thread of a process (that with the id 1, or $1) has run since this was asked before. A loop that
# hangs or is stopped does not, whatever other threads of its process do.
process=${1:-1}
thread=/proc/$process/task/$process
seen=${TMPDIR:-/tmp}/cauce-alive-$process
now=$(grep ctxt_switches "$thread/status" && sed 's/.*) //' "$thread/stat" | cut -d ' ' -f 12,13) || exit 1
[ "$now" != "$(cat "$seen" 2>/dev/null)" ] || exit 1
echo "$now" > "$seen"
"""

WAIT_SCRIPT = '''\
#!/usr/bin/env python3
"""Waits until every host:port that is named takes connections: streams made before then would have fewer copies.

After two minutes one of them is enough: a node that is dead for longer must keep nobody from starting.
"""

import os
import socket
import sys
import time

PATIENCE_S = float(os.environ.get("CAUCE_WAIT_S", "120"))


def answers(place):
    host, _, port = place.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except OSError:
        return False
    return True


def main(places):
    end = time.monotonic() + PATIENCE_S
    while True:
        silent = [place for place in places if not answers(place)]
        if not silent or (len(silent) < len(places) and time.monotonic() > end):
            return
        sys.stderr.write(f"waiting for {', '.join(silent)}\\n")
        time.sleep(1)


main(sys.argv[1:])
'''


def files() -> list[File]:
    """All but the sources."""
    return [
        File(f"{FOLDER}/Dockerfile", DOCKERFILE),
        File(f"{FOLDER}/bin/cauce", COMMAND, executable=True),
        File(f"{FOLDER}/bin/{ALIVE}", ALIVE_SCRIPT, executable=True),
        File(f"{FOLDER}/bin/{WAIT}", WAIT_SCRIPT, executable=True),
    ]


def sources(package: Path) -> list[File]:
    """The lock file and the package, as they are in a clone of the project."""
    lock = package.parents[1] / LOCK
    if not lock.is_file():
        raise UsageError(f"cauce deploy needs {LOCK} of the project: run ./cauce deploy in a clone")
    found = [path for path in sorted(package.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    own = [File(f"{FOLDER}/src/cauce/{path.relative_to(package).as_posix()}", path.read_bytes()) for path in found]
    return [File(f"{FOLDER}/{LOCK}", lock.read_bytes()), *own]
