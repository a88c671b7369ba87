# shellcheck shell=bash
# Sourced by the benchmarks that are scripts. DSAJIT names the command, MEMORY the program of that
# benchmark; the default is what the folder build/ holds.

build=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build
DSAJIT=${DSAJIT:-$build/dsajit}
export MEMORY=${MEMORY:-$build/bench/memory}
export DSAJIT_EMULATOR=${DSAJIT_EMULATOR:-$build/libdsajit_emulator.so}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/dsajit-bench-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# member NAME: a number of the JSON object on standard input.
member() {
    sed -n "s/^ *\"$1\": \([0-9.]*\),\{0,1\}$/\1/p" | head -n 1
}

# summary NAME UNIT: median, least and most of the numbers on standard input; sets nothing.
summary() {
    sort -g | awk -v name="$1" -v unit="$2" '
        { value[NR] = $1 }
        END {
            half = int((NR + 1) / 2)
            median = NR % 2 ? value[half] : (value[half] + value[half + 1]) / 2
            printf "%-44s %10.4g %-4s (%.4g to %.4g, of %d)\n", name, median, unit, value[1],
                   value[NR], NR
        }'
}

# median: of the numbers on standard input.
median() {
    sort -g | awk '{ value[NR] = $1 }
        END { half = int((NR + 1) / 2)
              print NR % 2 ? value[half] : (value[half] + value[half + 1]) / 2 }'
}
