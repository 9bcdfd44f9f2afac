# bash cuts words at the characters of COMP_WORDBREAKS, and @ and = are among them. So the words are put
# together again before lousho is asked, and what the shell keeps of the last one is taken off the offers.
_lousho_completion() {
    local IFS=$'\n'
    local words=() rest="$COMP_LINE" word blank i keep mark offer
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        blank="${rest%%[![:blank:]]*}"
        rest="${rest#"$blank"}"
        rest="${rest#"$word"}"
        if ((i > 0)) && [[ -z "$blank" ]]; then
            words[-1]+="$word"
        else
            words+=("$word")
        fi
    done
    keep=""
    word="${words[-1]}"
    for mark in @ = :; do
        if [[ "$COMP_WORDBREAKS" == *"$mark"* && "$word" == *"$mark"* ]]; then
            mark="${word%"$mark"*}$mark"
            ((${#mark} > ${#keep})) && keep="$mark"
        fi
    done
    COMPREPLY=()
    for offer in $(env COMP_WORDS="${words[*]}" \
                       COMP_CWORD=$((${#words[@]} - 1)) \
                       _LOUSHO_COMPLETE=complete_bash "$1"); do
        COMPREPLY+=("${offer#"$keep"}")
    done
    return 0
}

complete -o default -o nosort -F _lousho_completion lousho
