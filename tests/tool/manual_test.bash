#!/usr/bin/env bash
# The manual pages name every command, option, variable and exit code that there is.
set -euo pipefail
pages=$DSAJIT_TEST_SOURCE/docs/man
failures=0

# expect PAGE MACRO TEXT: a line of the page has MACRO before TEXT.
expect() {
    if ! grep -qE -- "(^\.|^\.It |[ ,]) *$2 $3( |\$)" "$pages/$1"; then
        echo "$1 does not have: $2 $3" >&2
        failures=$((failures + 1))
    fi
}

while IFS=$'\t' read -r command options; do
    case $command in
    warmup | check) page=dsajit-warmup.1 ;;
    cache\ *)
        page=dsajit-cache.1
        expect "$page" Cm "${command#cache }"
        ;;
    *)
        page=dsajit.1
        expect "$page" Cm "$command"
        ;;
    esac
    for option in $options; do
        option=${option%%=*}
        case $command:$option in
        *:--help | *:--usage) ;;
        *:--json | *:--verbose) expect dsajit.1 Fl "-${option#--}" ;;
        "cache export:--sign") expect "$page" Fl -sign ;;
        "cache export:"*) expect dsajit-warmup.1 Fl "-${option#--}" ;; # those that choose variants
        *) expect "$page" Fl "-${option#--}" ;;
        esac
    done
done < <("$DSAJIT_TEST_TOOL" help --completion)

while read -r variable; do
    expect dsajit.1 Ev "$variable"
done < <("$DSAJIT_TEST_TOOL" config | sed -n 's/^\(DSAJIT_[A-Z_]*\)=.*/\1/p')

while read -r code; do
    if ! grep -qE "^\.It ([0-9]+, )?$code(,|\$)" "$pages/dsajit.1"; then
        echo "dsajit.1 does not have exit code $code" >&2
        failures=$((failures + 1))
    fi
done < <("$DSAJIT_TEST_TOOL" --help | sed -n '/^Exit codes:/,/^$/s/^  \([0-9][0-9]*\) .*/\1/p')
[ "$failures" -eq 0 ]
