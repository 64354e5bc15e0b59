#!/bin/sh
# once.sh - a C compiler that compiles a file of the runtime once for the same flags and keeps the object; all else goes
# to the compiler as it is. Half of what `modc run` compiles is the runtime.
#
#     ONCE=FOLDER CC="tests/support/once.sh gcc" modc run ...
set -eu

compiles='' source='' object='' model='' flags='' before=''
for word; do
    case $before,$word in
    -o,*) object=$word ;;
    *,-c) compiles=yes ;;
    *,-o | *,-I*) ;;
    *,-DMODC_MODEL=*) model=$word ;;
    *,*/modc_*.c) source=$word ;;
    *) flags="$flags $word" ;;
    esac
    before=$word
done
if [ -z "$compiles" ] || [ -z "$source" ] || [ -z "$object" ]; then
    exec "$@"
fi

name=${source##*/}
[ "$name" = modc_main.c ] || model='' # no other file asks for it
key=$(printf '%s\n' "$flags $model" | cat - "${source%/*}"/modc*.h "$source" | sha256sum)
kept=$ONCE/$name.${key%% *}
if [ -e "$kept" ]; then
    exec cp "$kept" "$object"
fi
"$@"
mkdir -p "$ONCE"
cp "$object" "$kept.$$"
mv "$kept.$$" "$kept" # whole, whoever else makes it
