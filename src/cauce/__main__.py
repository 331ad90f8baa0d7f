"""Entry point of `python -m cauce` and of the installed command `cauce`."""

import gc
import os
import signal
import sys
from types import FrameType


def start() -> None:
    """Runs the command line and ends the process."""
    # Loaded modules are never freed: garbage collection during imports would cost a tenth of the start-up time.
    gc.disable()
    archive = None
    try:
        from cauce.module_archive import install

        archive = install()
        _run()
    except KeyboardInterrupt:
        # Interrupted before the command line could report it.
        sys.stderr.write("interrupted\n")
        os._exit(130)
    except SystemExit as ended:
        sys.stdout.flush()
        sys.stderr.flush()
        if archive is not None and not ended.code:
            archive.renew()
        # A regular interpreter shutdown takes a third of a second, and nothing is left to save.
        os._exit(ended.code if isinstance(ended.code, int) else 1)


def _run() -> None:
    # Not if the caller ignores the signal, as shells do for commands in the background.
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        signal.signal(signal.SIGINT, _exit_now)
    # As soon as possible: until then, every user of this machine can read a password in the arguments.
    from cauce.terminal.invocation import hide_secrets

    hide_secrets()
    from cauce.lazy_dataclasses import compile_at_first_call

    compile_at_first_call()
    from cauce.light_imports import load_less

    load_less()
    from cauce.cli.entry import entry

    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    entry()


def _exit_now(number: int, frame: FrameType | None) -> None:
    """Ctrl-C while modules are loaded. A KeyboardInterrupt within an import may be ignored by the interpreter."""
    os.write(sys.stderr.fileno(), b"interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    start()
