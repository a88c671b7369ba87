# shellcheck shell=bash
# Sourced by bootstrap.sh: how its parts speak.

say() {
    printf '== %s\n' "$*"
}

die() {
    printf 'bootstrap: %s\n' "$@" >&2
    exit 1
}
