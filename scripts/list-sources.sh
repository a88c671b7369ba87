#!/bin/sh
# Every C source and header of the project, NUL-terminated: what clang-format looks at.
set -eu
cd "$(dirname "$0")/.."
folders=
for folder in include src helper tools tests examples bench cmake; do
    if [ -d "$folder" ]; then
        folders="$folders $folder"
    fi
done
# shellcheck disable=SC2086 # a list of plain names
find $folders -type f \( -name '*.c' -o -name '*.h' \) -print0 | sort -z
