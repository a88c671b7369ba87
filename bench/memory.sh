#!/usr/bin/env bash
# Memory of a serving process with the default plan resident, against the same process before.
set -euo pipefail
# shellcheck source=bench/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$DSAJIT" warmup --progress off --into "$scratch/cache" >/dev/null
"$MEMORY" "$scratch/cache"
