#!/usr/bin/env bash
# demo_run.sh - three trained networks as C, and one that C trains: generates, compiles and runs programs of examples/.
# Needs build/modc (demo.sh builds it); writes to build/demo only.
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

modc=build/modc
out=build/demo
cc=${CC:-cc}
read -ra cflags <<<"${CFLAGS:--O3 -march=native}"
[ -x $modc ] || fail "there is no $modc yet: run scripts/demo.sh"
mkdir -p $out

# network NAME SPEC WEIGHTS: generates and compiles NAME, adds its bytes of weights and of code to `flash`.
flash=()
network() {
    local name=$1 spec=$2 weights=$3 text data

    printf 'modc generate %s --weights %s\n' "$spec" "$weights"
    $modc generate "$spec" --weights "$weights" -o $out
    "$cc" "${cflags[@]}" -Iruntime -c $out/"$name".c -o $out/"$name".o
    "$cc" -I$out -c $out/"$name"_weights.S -o $out/"$name"_weights.o
    read -r text data _ < <(size $out/"$name".o | tail -n 1)
    flash+=("$(wc -c <$out/"$name"_weights.bin)" $((text + data)))
}

say "from specs and PyTorch's weights to C"
network cnn specs/digits/cnn.yaml specs/digits/weights_cnn.safetensors
network mlp specs/digits/mlp.yaml specs/digits/weights_mlp.safetensors
network policy specs/cartpole/policy.yaml specs/cartpole/weights.safetensors

runtime=()
for file in runtime/*.c; do
    runtime+=("$out/$(basename "$file" .c).o")
    "$cc" "${cflags[@]}" -c "$file" -o "${runtime[-1]}"
done
printf '%s %s examples/demo.c ...\n' "$cc" "${cflags[*]}"
"$cc" "${cflags[@]}" -Iruntime -I$out examples/demo.c $out/{cnn,mlp,policy}{,_weights}.o "${runtime[@]}" -o $out/demo -lm
"$cc" "${cflags[@]}" -Iruntime -I$out examples/balance/balance.c $out/policy{,_weights}.o "${runtime[@]}" -o $out/balance -lm

say "against PyTorch's numbers"
status=0
$out/demo specs "${flash[@]}" || status=$?

say "the policy balances a pole on a simulated cart (500 steps is all it is asked for)"
$out/balance || status=$?

say "training: the same classifier, from PyTorch's initial weights, in C"
printf 'modc generate examples/train_digits/learner.yaml\n'
$modc generate examples/train_digits/learner.yaml -o $out
"$cc" "${cflags[@]}" -Iruntime -I$out examples/train_digits/train_digits.c $out/learner.c "${runtime[@]}" -o $out/train_digits -lm
$out/train_digits specs/digits || status=$?

say "what modc wrote for the cnn"
awk '/^static void cnn_forward_eval\(/ { on = 1 } on { print } on && (/^}/ || ++lines == 40) { exit }' $out/cnn.c

cat <<END

written by modc   $out/cnn.h cnn.c cnn_weights.bin, and as many for mlp and policy
the programs      $out/demo, $out/balance and $out/train_digits, from examples/
their sources     specs/digits/cnn.yaml, specs/digits/mlp.yaml, specs/cartpole/policy.yaml
how to go on      README.md
END
[ $status -eq 0 ] || fail "something above is WRONG"
say "done: all numbers are PyTorch's"
