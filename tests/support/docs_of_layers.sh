#!/bin/sh
# docs_of_layers.sh - docs/layers has a page for each layer, made from its row: as modc writes them now.
#
#     tests/support/docs_of_layers.sh MODC WORK     from the root of the repository
set -eu
rm -rf "$2"
"$1" layers -o "$2"
if ! diff -ru docs/layers "$2"; then
    echo "read the difference, then build the target update-docs" >&2
    exit 1
fi
