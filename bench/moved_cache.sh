#!/usr/bin/env bash
# Hits after a cache was moved elsewhere, under another HOME and with the toolchain unchanged.
set -euo pipefail
# shellcheck source=bench/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mkdir "$scratch/one" "$scratch/other"
HOME=$scratch/one "$DSAJIT" warmup --progress off --into "$scratch/one/cache"
mv "$scratch/one/cache" "$scratch/other/moved"
HOME=$scratch/other DSAJIT_CACHE_DIR=$scratch/other/moved "$DSAJIT" check
cp -r "$scratch/other/moved" "$scratch/copy"
chmod -R go-w "$scratch/copy"
HOME=$scratch/other DSAJIT_CACHE_DIR=$scratch/empty DSAJIT_PREBUILT_PATH=$scratch/copy \
    "$DSAJIT" check
