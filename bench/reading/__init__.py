"""CSV files with damaged rows: which programs refuse them, which lose intact rows, and how long reading takes.

Every file has a few damaged rows among many intact ones. A program is right if it finds every intact row with its
values: a damaged row must not cost another one.
"""

from __future__ import annotations

COLUMNS = ("id", "status", "amount", "name", "day", "note")
INTACT, DAMAGED = "intact", "damaged"
