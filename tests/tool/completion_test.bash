#!/usr/bin/env bash
# Every command and option that the help shows is completed.
set -euo pipefail

# shellcheck source=/dev/null
source "$DSAJIT_TEST_SOURCE/completions/dsajit.bash"
checks=0

# complete_words WORD…: fills COMPREPLY for a command line whose last word is at the cursor.
complete_words() {
    COMP_WORDS=("$DSAJIT_TEST_TOOL" "$@")
    COMP_CWORD=$#
    _dsajit
}

# expect WHAT: it is among the completions.
expect() {
    local reply
    checks=$((checks + 1))
    for reply in ${COMPREPLY[@]+"${COMPREPLY[@]}"}; do
        if [ "$reply" = "$1" ]; then
            return
        fi
    done
    printf 'not completed: %s after: %s\ncompletions: %s\n' "$1" "${COMP_WORDS[*]:1}" \
        "${COMPREPLY[*]-}" >&2
    exit 1
}

# The commands as "dsajit --help" lists them, two words at most.
commands() {
    "$DSAJIT_TEST_TOOL" --help |
        sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\( [a-z-]*\)\{0,1\}\)  .*/\1/p'
}

# The long options of a command as its help shows them.
options() {
    # shellcheck disable=SC2086 # a command's words
    "$DSAJIT_TEST_TOOL" help $1 | grep -oE '^ .{0,6}--[a-z-]+' | grep -oE -- '--[a-z-]+'
}

mapfile -t all < <(commands)
[ "${#all[@]}" -ge 20 ]
for command in "${all[@]}"; do
    read -ra words <<<"$command"
    complete_words ''
    expect "${words[0]}"
    complete_words "${words[0]:0:3}"
    expect "${words[0]}"
    complete_words help ''
    expect "${words[0]}"
    if [ "${#words[@]}" -gt 1 ]; then
        complete_words "${words[0]}" ''
        expect "${words[1]}"
    fi
    complete_words "${words[@]}" --
    while read -r option; do
        expect "$option"
    done < <(options "$command")
done

# Values, in both spellings, and options before the command's last word.
complete_words warmup --progress ''
expect plain
complete_words warmup --progress = js
expect json
complete_words warmup --progress =
expect auto
complete_words cache --json pru
expect prune
complete_words cache prune --json --ol
expect --older-than
cd "$DSAJIT_TEST_STATE"
mkdir -p a-folder
touch a-file
complete_words warmup --into a-
expect a-folder
complete_words warmup --plan a-
expect a-file
complete_words cache show a-
expect a-file
complete_words --ver
expect --version
[ "$checks" -gt 150 ]
echo "$checks completions"
