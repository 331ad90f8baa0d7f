"""Runs `rabbitmqctl`, on private nodes and on those of an operator."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from cauce.errors import BrokerFailed, UsageError
from cauce.lab.broker.installation import HOW_TO_INSTALL, find

CONTROL = "rabbitmqctl"
PATIENCE_S = 60.0


def run_control(command: Sequence[str], environment: Mapping[str, str], asked: str, patience_s: float) -> str:
    """Returns the output. `asked` describes the command in errors."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=patience_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BrokerFailed(f"{asked} took more than {patience_s:g} s") from None
    if done.returncode:
        raise BrokerFailed(f"{asked} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def evaluate_on(node: str, expression: str) -> str:
    """On a node of the operator's, with the rabbitmqctl, the cookie and the environment of the operator."""
    names = ["--longnames"] if "." in node.partition("@")[2] else []
    command = [_control(), *names, "--quiet", "--node", node, "eval", expression]
    return run_control(command, os.environ, f"{CONTROL} eval on {node}", PATIENCE_S)


def _control() -> str:
    """The rabbitmqctl on the path. It may be a package's wrapper, which switches to the user who has the cookie."""
    found = shutil.which(CONTROL) or shutil.which(CONTROL, path="/usr/sbin:/usr/local/sbin")
    if found is not None:
        return found
    installation = find()
    if installation is None:
        raise UsageError(
            f"--node needs {CONTROL}, which is not on PATH: run it on a machine of the broker; {HOW_TO_INSTALL}"
        )
    return str(installation.control)
