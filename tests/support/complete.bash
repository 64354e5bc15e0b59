#!/usr/bin/env bash
# complete.bash - what bash offers for a command line that is typed so far: `complete.bash 'modc check --dt'`, with the
# script that `modc completion bash` prints. A line each, sorted.
set -u
source <(modc completion bash)

line=$1
COMP_LINE=$line COMP_POINT=${#line} COMP_WORDS=()
while [[ $line ]]; do # as bash takes it apart: at blanks, and at each '='
    case $line in
    ' '*) line=${line# } ;;
    '='*) COMP_WORDS+=('=') line=${line#=} ;;
    *)
        word=${line%%[ =]*}
        COMP_WORDS+=("$word")
        line=${line#"$word"}
        ;;
    esac
done
if [[ $1 == *' ' ]]; then
    COMP_WORDS+=('')
fi
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))

words=$(complete -p modc) || exit 1
[[ $words == 'complete -F _modc modc' ]] || exit 1
_modc
for word in ${COMPREPLY[@]+"${COMPREPLY[@]}"}; do
    printf '%s\n' "$word"
done | LC_ALL=C sort
