#!/usr/bin/env bash
# arduino.sh - libraries of generate --bundle=arduino: their folders as Arduino's linter wants them (arduino.py), each file compiled as its builds do, with
# src/ alone to include from, the sketch as C++ behind a small Arduino.h, and all of it linked for a board's core.
#
#     CC=arm-none-eabi-gcc PYTHON=python3 tests/support/arduino.sh MODC WORK      from the root of the repository
set -euo pipefail

modc=$1 work=$2
rm -rf "$work"
mkdir -p "$work/core"
core="-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard -Os -ffreestanding -ffunction-sections -fdata-sections
    -Wall -Wextra -Werror"

# What the sketch uses of Arduino, and the names that its macros take from all.
cat >"$work/core/Arduino.h" <<'END'
#pragma once
#define HIGH 1
#define INPUT 0
#define OUTPUT 1
#define bit(b) (1UL << (b))
#define abs(x) ((x) > 0 ? (x) : -(x))
unsigned long micros();
void delay(unsigned long milliseconds);
struct SerialOf {
    void begin(unsigned long baud);
    void print(const char *text);
    void println(const char *text);
    void println(unsigned long number);
};
extern SerialOf Serial;
END
cat >"$work/core/main.cpp" <<'END'
#include <Arduino.h>
SerialOf Serial;
unsigned long micros() { return 0; }
void delay(unsigned long) {}
void SerialOf::begin(unsigned long) {}
void SerialOf::print(const char *) {}
void SerialOf::println(const char *) {}
void SerialOf::println(unsigned long) {}
void setup();
void loop();
extern "C" int main()
{
    setup();
    loop();
    return 0;
}
END

library() { # MODEL SPEC [OPTION]...
    local folder=$work/$1 model=$1 objects=()
    shift
    "$modc" generate "$@" --bundle=arduino -o "$folder"
    "$PYTHON" tests/support/arduino.py "$folder"
    if find "$folder" -name '*.cmake' -o -name CMakeLists.txt -o -name '*.S' -o -name '*.bin' -o -name 'modc_*host.c' \
        -o -name modc_queue.c -o -name modc_threads.c | grep .; then
        echo "arduino.sh: $model: files that are not for Arduino" >&2
        exit 1
    fi
    for source in "$folder"/src/*.c; do
        # shellcheck disable=SC2086
        $CC $core -std=c11 -I"$folder/src" -c -o "$source.o" "$source"
    done
    objects=("$folder"/src/*.o)
    for source in "$folder/examples/$model/$model.ino" "$work/core/main.cpp"; do
        # shellcheck disable=SC2086
        $CC $core -std=gnu++17 -fno-exceptions -fno-rtti -I"$folder/src" -I"$work/core" -include Arduino.h -x c++ -c \
            -o "$source.o" "$source"
        objects+=("$source.o")
    done
    # shellcheck disable=SC2086
    $CC $core --specs=nosys.specs -Wl,--gc-sections -o "$folder/program" "${objects[@]}" -lm 2>"$work/said" ||
        { cat "$work/said" >&2; exit 1; }
}
library policy specs/cartpole/policy.yaml --set batch=1 --weights specs/cartpole/weights.safetensors
library mlp specs/digits/mlp.yaml --set batch=1 --target cortex-m4f
library pair tests/specs/dtypes.yaml

# Names that libraries of others may not have.
"$PYTHON" tests/support/arduino.py --self-test
for model in arduino_net ArduinoNet "$(printf 'long%.0s' {1..20})"; do
    "$modc" generate tests/specs/dtypes.yaml --model "$model" --bundle=arduino -o "$work/named"
    "$PYTHON" tests/support/arduino.py "$work/named"
    rm -r "$work/named"
done

# What no machine of the libraries' architectures is: with an int of 16 bits, or big-endian.
for machine in "-U__SIZEOF_INT__ -D__SIZEOF_INT__=2" -mbig-endian; do
    # shellcheck disable=SC2086
    if $CC $core $machine -std=c11 -I"$work/policy/src" -fsyntax-only "$work/policy/src/policy.c" 2>"$work/said" ||
        ! grep -q '#error' "$work/said"; then
        echo "arduino.sh: compiles with $machine" >&2
        exit 1
    fi
done
