"""Remakes docs/images/sql.svg: what `./cauce sql` prints, taken from a real run on the files in examples/.

    .venv/bin/python scripts/picture.py

The picture must show nothing that the command did not print.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "sql.svg"
WIDTH = 108
QUESTION = "SELECT sku, count(*) AS orders, sum(paid) AS paid FROM orders GROUP BY ALL ORDER BY paid DESC LIMIT 3"
RUN = ["sql", QUESTION, "--data", "examples/my_shop", "--type", "orders.paid=decimal(18,2)"]


def main() -> None:
    printed = cauce(RUN)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.assemble(("$ ", "bold green"), f"./cauce {shlex.join(RUN)}"))
    console.print(Text.from_ansi(printed.rstrip()))
    # Room below the last line.
    console.print()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    picture = console.export_svg(title="cauce", unique_id="cauce")
    PICTURE.write_text(without_web_font(picture), encoding="utf-8")


def cauce(arguments: list[str]) -> str:
    """What the command prints on a terminal of this width."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "COLORTERM": "truecolor"}
    command = [sys.executable, "-m", "cauce", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.stdout.decode()


def without_web_font(picture: str) -> str:
    """Rich names a font on the web; a picture in a repository should fetch nothing."""
    alone = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    return alone.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")


if __name__ == "__main__":
    main()
