#!/usr/bin/env bash
# msvc.sh - the runtime and what is emitted for some specs, as MSVC's C11 mode would read them: by clang for that target, over
# the headers of tests/support/msvc, which has of Microsoft's what they use. As clang-cl, and without what tells clang from MSVC,
# where no extension of GNU C may be left. What clang takes and MSVC does not is looked for by name.
#
#     tests/support/msvc.sh MODC CLANG WORK     from the root of the repository
set -euo pipefail

modc=$1 clang=$2 work=$3
rm -rf "$work"
mkdir -p "$work"

generate() { # SPEC [OPTION]...
    local folder
    folder=$work/$(basename "$1" .yaml)
    "$modc" generate "$@" -o "$folder" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
}
generate specs/cartpole/policy.yaml --weights specs/cartpole/weights.safetensors --weights-as c --backward
generate tests/optim/model.yaml
for spec in cnn64 drops dtypes pool recurrent rollout rows storage tables template text tokenizer trees; do
    generate tests/specs/$spec.yaml --backward
done
for spec in functions_fft functions_order linalg losses_ctc multihead special; do
    generate tests/layers/$spec.yaml
done
cat >"$work/constants.yaml" <<'END'
modc: 1
model: constants
inputs:
  x: [batch, 4]
sizes: {batch: 2}
buffers: # large ones: of the state_dict, and two constants with names that are close
  grid: {value: arange(8192.0)}
  table: {value: "arange(8192.0) / 2", persistent: false}
  table_words: {value: "arange(8192.0) / 4", persistent: false}
forward:
  - x = x + (self.grid + self.table + self.table_words)[:4]
  - return x + torch.tensor([float('nan'), float('inf'), -float('inf'), 1.0])
END
generate "$work/constants.yaml"
grep -q MODC_NAN "$work"/constants/constants.c || { echo "constants.yaml: no NaN in a table" >&2; exit 1; }

sources=(runtime/modc_*.c "$work"/*/*.c)
read_all() { # FLAG...
    for source in "${sources[@]}"; do
        "$clang" --target=x86_64-pc-windows-msvc -fms-compatibility -fms-compatibility-version=19.30 -fms-extensions \
            -std=c11 -fsyntax-only -nostdinc -isystem tests/support/msvc -Iruntime -I"$(dirname "$source")" \
            -Wall -Wextra -Wpedantic -Wvla -Werror -Wno-unused-function -Wno-language-extension-token "$@" "$source"
    done
}
read_all
# MSVC has no attribute for what is not used; and clang reads pragmas of MSVC only in part.
read_all -U__clang__ -Wno-unused-parameter -Wno-unused-variable -Wno-unknown-pragmas -Wno-ignored-pragmas

# static in the brackets of a parameter, and strings of more than 16380 bytes (C2026), which would stand on such a line.
if grep -nE '\[static ' "${sources[@]}" runtime/*.h "$work"/*/*.h ||
    awk 'length > 16380 { print FILENAME ": " FNR; long = 1 } END { exit !long }' "${sources[@]}"; then
    exit 1
fi
