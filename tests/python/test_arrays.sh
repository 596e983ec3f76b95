#!/usr/bin/env bash
# Masks, labels and orders of bytes as other programs write them, by weft convert and python/weft/store.py alike; and damaged
# stores, checkpoints and metrics, of which Python only hears ValueError and OSError with the file's name.
# trees: release
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
python3 -c 'import numpy' 2>/dev/null || skip "python3 with NumPy is not available"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PYTHONPATH="$source_dir/python" PYTHONDONTWRITEBYTECODE=1
python3 "$source_dir/tests/python/array_checks.py" "$weft"
python3 "$source_dir/tests/python/mutation_checks.py" "$weft" 500
