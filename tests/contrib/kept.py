"""A service that keeps a small dataset, for the integrations."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cauce.client import Service
from tests.service.running import Running

CONTRIB = Path(__file__).parents[2] / "contrib"
SQL = "SELECT sku, sum(paid) AS paid FROM orders GROUP BY sku ORDER BY sku"


@contextmanager
def kept_orders(folder: Path) -> Iterator[str]:
    """Yields the address of the gateway."""
    data = folder / "data"
    data.mkdir()
    (data / "orders.csv").write_text("sku,paid\na,1.50\nb,2\na,free\n")
    with Running(folder, "serve", "--workers", "1", "--gateways", "1", "--doctors", "1") as running:
        with Service(running.url) as service:
            service.upload("shop", data, types={"orders.paid": "decimal(18,2)"})
        yield running.url


def importable(name: str) -> None:
    """Makes the modules of an integration importable, as its installation does."""
    sys.path.insert(0, str(CONTRIB / name))
