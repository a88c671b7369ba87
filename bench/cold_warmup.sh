#!/usr/bin/env bash
# Wall time of a cold warmup of the default plan, with one compile at a time and with two.
# usage: cold_warmup.sh [REPEATS]
set -euo pipefail
# shellcheck source=bench/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# run JOBS: its milliseconds, appended to the file for that number. Each begins with nothing.
run() {
    rm -rf "$scratch/cache"
    "$DSAJIT" warmup --json --progress off --jobs "$1" --into "$scratch/cache" |
        member elapsed_ms >>"$scratch/$1"
}

for ((i = 0; i < ${1:-3}; i++)); do
    run 1
    run 2
done
summary "cold default warmup, 1 job" ms <"$scratch/1"
summary "cold default warmup, 2 jobs" ms <"$scratch/2"
awk -v one="$(median <"$scratch/1")" -v two="$(median <"$scratch/2")" \
    'BEGIN { printf "%-44s %10.3f\n", "2 jobs / 1 job", two / one }'
