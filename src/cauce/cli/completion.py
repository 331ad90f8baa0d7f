"""`cauce completion`: the scripts with which bash, zsh and fish complete commands, options and names.

Typer answers what can stand at the cursor; the scripts ask it. They call the program as it was typed, so that
`./cauce` in a clone is completed as well as an installed `cauce`.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cauce.errors import UsageError

COMPLETE = "_CAUCE_COMPLETE"
"""The variable by which a shell asks for completions."""

BASH = r"""
_cauce_completion() {
    local IFS=$'\n'
    COMPREPLY=( $( env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _CAUCE_COMPLETE=complete_bash \
                   "$1" 2>/dev/null ) )
    return 0
}

complete -o default -F _cauce_completion cauce
"""

ZSH = r"""
#compdef cauce

_cauce_completion() {
    eval "$(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _CAUCE_COMPLETE=complete_zsh "${words[1]}" 2>/dev/null)"
}

compdef _cauce_completion cauce
"""

FISH = r"""
function _cauce_completion
    set -lx _CAUCE_COMPLETE complete_fish
    set -lx _TYPER_COMPLETE_FISH_ACTION $argv[1]
    set -lx _TYPER_COMPLETE_ARGS (commandline -cp)
    set -l words (commandline -opc)
    $words[1] 2>/dev/null
end

complete --command cauce --no-files --condition '_cauce_completion is-args' --arguments '(_cauce_completion get-args)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def shell_names(incomplete: str) -> list[str]:
    return [name for name in SCRIPTS if name.startswith(incomplete)]


def completion(
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish", metavar="SHELL", autocompletion=shell_names)],
) -> None:
    """Print the script that completes commands and options in a shell.

    bash, in ~/.bashrc: eval "$(PATH/TO/cauce completion bash)"

    zsh, in ~/.zshrc, after compinit: eval "$(PATH/TO/cauce completion zsh)"

    fish, in ~/.config/fish/config.fish: PATH/TO/cauce completion fish | source
    """
    if shell not in SCRIPTS:
        raise UsageError(f"unknown shell {shell}; expected one of {', '.join(SCRIPTS)}")
    sys.stdout.write(SCRIPTS[shell].lstrip())
