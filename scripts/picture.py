"""Remakes docs/images/run.svg: what `./cauce run` prints, taken from a real run on generated data.

    .venv/bin/python scripts/picture.py

The picture must show nothing that the command did not print.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "run.svg"
WIDTH = 108
GENERATE = "generate books --out data --scale 0.002 --seed 7"
RUN = "run books --data data --out answers --queries q1,q3,q4"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        cauce(GENERATE, folder)
        printed = cauce(RUN, folder)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.assemble(("$ ", "bold green"), f"./cauce {RUN}"))
    console.print(Text.from_ansi(printed.rstrip()))
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    picture = console.export_svg(title="cauce", unique_id="cauce")
    PICTURE.write_text(without_web_font(picture), encoding="utf-8")


def cauce(arguments: str, folder: str) -> str:
    """What the command prints on a terminal of this width."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "COLORTERM": "truecolor"}
    command = [sys.executable, "-m", "cauce", *arguments.split()]
    done = subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


def without_web_font(picture: str) -> str:
    """Rich names a font on the web; a picture in a repository should fetch nothing."""
    alone = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    return alone.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")


if __name__ == "__main__":
    main()
