"""`python -m cauce`."""

import os
import sys

from cauce.cli.main import entry

try:
    entry()
except SystemExit as ended:
    sys.stdout.flush()
    sys.stderr.flush()
    # Taking the interpreter down in good order costs a third of a second, and there is nothing left to save.
    os._exit(ended.code if isinstance(ended.code, int) else 1)
