"""Settings for all tests: one thread for each library, since the tests run side by side."""

from __future__ import annotations

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

pytest_plugins = ["tests.brokers", "tests.fabrics"]
