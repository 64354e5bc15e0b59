#!/usr/bin/env bash
# use.sh - tests/package, a project that uses modc, is built, changed and built again: what must be made again is, and
# nothing else.
#
#     CC=cc CMAKE_GENERATOR=Ninja tests/support/use.sh CMAKE PREFIX WORK
set -euo pipefail

cmake=$1 prefix=$2 work=$3
rm -rf "$work"
mkdir -p "$(dirname "$work")"
cp -R tests/package "$work"
cp "$prefix/bin/modc" "$work/modc" # stands for another release: it may be touched
for seed in 1 2; do
    CC="${CMAKE_C_COMPILER_LAUNCHER:-} ${CC:-cc}" CFLAGS=-O1 \
        "$prefix/bin/modc" run "$work/net.yaml" --seed $seed --state "$work/seed_$seed.safetensors"
done
cp "$work/seed_1.safetensors" "$work/models/net.safetensors"
cd "$work"

fail() {
    printf 'use.sh: %s\n' "$*" >&2
    cat said >&2
    exit 1
}

configure() {
    "$cmake" -S . -B build -DCMAKE_PREFIX_PATH="$prefix" -DMODC_EXECUTABLE="$work/modc" "$@" >said 2>&1 || fail "no configuration"
}

built() {
    "$cmake" --build build >said 2>&1 || fail "it does not build"
}

# prints TEXT: what the program prints has this in it.
prints() {
    build/use >output || fail "the program fails"
    grep -qF -e "$1" output || fail "the program does not print '$1' but '$(cat output)'"
}

# later COMMAND...: in a second for which files of now are older.
later() {
    sleep 0.02
    "$@"
}

# made COUNT MODEL...: the last build compiled so many files, and had modc run for exactly these models. Files for instruction sets
# that wide gains nothing by, in which there is nothing, are not counted: whether they are compiled again is the time's matter.
made() {
    local count=$1 found

    shift
    found=$(sed -n 's/.*Compiling .* to C: //p' said | sort | tr '\n' ' ')
    [ "$found" = "${*:+$* }" ] || fail "modc ran for '$found', not for '$*'"
    found=$(grep 'Building C object' said | grep -cv '_vnni\|_dotprod' || true)
    [ "$found" = "$count" ] || fail "$found files were compiled, not $count"
}

configure -DHIDDEN=4
built
prints "net 0.359, narrow 0.359, wide 0.258 with 4 weights of at most 3 rows"
runtime=$(find "$prefix/share/modc/runtime" -maxdepth 1 -name '*.c' | wc -l)
more=0 # DISPATCH of wide: for so many instruction sets more
[ "$(uname -m)" = x86_64 ] && more=2
made $((runtime + 6 + more)) narrow net wide # and the weights of two, use.c
built
made 0

later sed -i '1i # A comment changes nothing.' net.yaml
built
made 0 narrow net wide
built
made 0

later sed -i 's/batch: 2/batch: 2 /' base.yaml # which net.yaml extends
built
made 0 narrow net wide

later sed -i 's/Tanh/ReLU/' net.yaml
built
made $((3 + more)) narrow net wide
built
made 0

later cp seed_2.safetensors models/net.safetensors
built
made 2 narrow net
prints "net -"

later configure -DHIDDEN=6
built
made $((2 + more)) wide # the header has another size, which use.c includes
prints "with 6 weights"

later touch modc
built
made 0 narrow net wide

later sed -i 's/ReLU/RelU/' net.yaml
if "$cmake" --build build >said 2>&1; then
    fail "it builds with a wrong spec"
fi
grep -q "^$work/.*\.yaml:7:5: error: modc does not know the module 'RelU'" said || fail "the message of modc is missing"
grep -qF "hint: did you mean 'ReLU'?" said || fail "the hint is missing"
later sed -i 's/RelU/ReLU/' net.yaml
built
made 0 narrow net wide

# What is wrong with the call itself is said when it is configured.
refused() {
    printf 'cmake_minimum_required(VERSION 3.20)\nproject(wrong LANGUAGES C)\nfind_package(modc 0.1 REQUIRED)\n%bmodc_add_model(%s)\n' \
        "${enable-}" "$1" >wrong/CMakeLists.txt
    if "$cmake" -S wrong -B wrong/build -DCMAKE_PREFIX_PATH="$prefix" >said 2>&1; then
        fail "modc_add_model($1) is taken"
    fi
    tr -s ' \n' ' ' <said | grep -qF "$2" || fail "modc_add_model($1) does not say: $2"
}
mkdir wrong
refused "net" "modc_add_model(net): there is no SPEC"
refused "net SPEC net.yaml" "modc_add_model(net): there is no $work/wrong/net.yaml"
refused "net SPEC ../net.yaml WEIGHT ../seed_1.safetensors" "modc_add_model(net): unknown argument"
refused "net SPEC ../net.yaml WEIGHTS" "modc_add_model(net): WEIGHTS needs a value"
for wrong in "WEIGHTS_AS c" "WEIGHTS ../seed_1.safetensors WEIGHTS_AS C"; do
    refused "net SPEC ../net.yaml $wrong" "modc_add_model(net): WEIGHTS_AS is incbin or c"
done
refused "net SPEC ../net.yaml DEVICE gpu" "modc_add_model(net): DEVICE is cpu or cuda"
refused "net SPEC ../net.yaml DEVICE cuda DISPATCH" "modc_add_model(net): DISPATCH is for processors"
refused "net SPEC ../net.yaml DEVICE cuda" "net has kernels, which are compiled as CUDA: call modc_enable_cuda() in front of it"
export CUDACXX=$work/no_such_nvcc
enable="modc_enable_cuda()\n" refused "net SPEC ../net.yaml DEVICE cuda" "models on CUDA need its compiler, and none is found"
