#!/usr/bin/env bash
# docs/reliability.md has a row for each of R1 … R56, and each test that it names exists.
set -euo pipefail
cd "$1"
table=docs/reliability.md
status=0
for number in {1..56}; do
    if [ "$(grep -c "^| R$number |" $table)" -ne 1 ]; then
        echo "R$number: not one row"
        status=1
    fi
done
while read -r name; do
    if ! grep -rqE "\b$name\b" tests --include='*.c'; then
        echo "$name: no such test"
        status=1
    fi
done < <(grep '^| R' $table | grep -oE "\`[a-z0-9]+(_[a-z0-9]+)+\`" | tr -d '\`' |
     grep -vE '^(assert_warm|posix_spawn)$')
exit $status
