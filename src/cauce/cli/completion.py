"""`cauce completion`: prints a script of `completions/`, with which a shell completes commands, options and names.

The scripts query Typer for the candidates at the cursor. They call the program as the user typed it, so that completion
works for `./cauce` in a clone as well as for an installed `cauce`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cauce.errors import UsageError

COMPLETE = "_CAUCE_COMPLETE"
"""The environment variable with which a shell requests completions."""

SHELLS = ("bash", "zsh", "fish")


def shell_names(incomplete: str) -> list[str]:
    return [name for name in SHELLS if name.startswith(incomplete)]


def completion(
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish", metavar="SHELL", autocompletion=shell_names)],
) -> None:
    """Print the script that completes commands and options in a shell.

    bash, in ~/.bashrc: eval "$(PATH/TO/cauce completion bash)"

    zsh, in ~/.zshrc, after compinit: eval "$(PATH/TO/cauce completion zsh)"

    fish, in ~/.config/fish/config.fish: PATH/TO/cauce completion fish | source
    """
    if shell not in SHELLS:
        raise UsageError(f"unknown shell {shell}; expected one of {', '.join(SHELLS)}")
    sys.stdout.write(Path(__file__).with_name("completions").joinpath(f"cauce.{shell}").read_text(encoding="utf-8"))
