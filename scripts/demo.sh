#!/usr/bin/env bash
# demo.sh - from an empty machine (Debian 12) to a model that runs: builds modc, then shows it.
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

install_missing "$build_packages"
say "building modc"
configure_and_build release -DMODC_TESTS=OFF
exec scripts/demo_run.sh "$@"
