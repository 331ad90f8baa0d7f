function _cauce_completion
    set -lx _CAUCE_COMPLETE complete_fish
    set -lx _TYPER_COMPLETE_FISH_ACTION $argv[1]
    set -lx _TYPER_COMPLETE_ARGS (commandline -cp)
    set -l words (commandline -opc)
    $words[1] 2>/dev/null
end

complete --command cauce --no-files --condition '_cauce_completion is-args' --arguments '(_cauce_completion get-args)'
