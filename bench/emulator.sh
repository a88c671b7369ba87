#!/usr/bin/env bash
# Query tokens a second of the emulator: sparse MLA with 16 heads over 2048 keys a token, for one
# token and for several at once.
# usage: emulator.sh [REPEATS]
set -euo pipefail
# shellcheck source=bench/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

for tokens in 1 8; do
    for ((i = 0; i < ${1:-3}; i++)); do
        "$DSAJIT" run sparse-mla --json --device emulator --tokens "$tokens" --heads 16 \
            --topk 2048 | member run_ms | awk -v tokens="$tokens" '{ print 1000 * tokens / $1 }'
    done | summary "emulator, $tokens tokens at once" "1/s"
done
