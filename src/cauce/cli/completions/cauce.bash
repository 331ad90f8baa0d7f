_cauce_completion() {
    local IFS=$'\n'
    COMPREPLY=( $( env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _CAUCE_COMPLETE=complete_bash \
                   "$1" 2>/dev/null ) )
    return 0
}

complete -o default -F _cauce_completion cauce
