#compdef cauce

_cauce_completion() {
    eval "$(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _CAUCE_COMPLETE=complete_zsh "${words[1]}" 2>/dev/null)"
}

compdef _cauce_completion cauce
