#!/usr/bin/env bash
# A dry run of ogbn-papers100M's size, symmetrised, for 32 to 512 ranks: a store of sparse files that hold nothing, and every
# figure against integers that do not overflow.
# trees: release
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_CACHE_HOME=$work/cache
PYTHONDONTWRITEBYTECODE=1 python3 "$source_dir/tests/app/dry_run_checks.py" "$weft" || {
    code=$?
    [ $code -ne 77 ] || skip "no sparse files of 60 GB here"
    exit $code
}
