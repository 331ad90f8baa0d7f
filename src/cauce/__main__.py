"""`python -m cauce`."""

import gc
import os
import sys

# What is loaded stays: to look through it again and again for what could go takes a tenth of the loading.
gc.disable()

try:
    from cauce.cli.main import entry

    entry()
except KeyboardInterrupt:
    # Before the command line was there to report it.
    sys.stderr.write("interrupted\n")
    os._exit(130)
except SystemExit as ended:
    sys.stdout.flush()
    sys.stderr.flush()
    # Taking the interpreter down in good order costs a third of a second, and there is nothing left to save.
    os._exit(ended.code if isinstance(ended.code, int) else 1)
