#!/usr/bin/env bash
# Stores written by python/weft/store.py are byte for byte those of weft convert, and train to the same bits; PyG and DGL
# objects become stores; metrics are read. Needs python3 with NumPy; PyG and DGL where they are installed.
# trees: release
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
python3 -c 'import numpy' 2>/dev/null || skip "python3 with NumPy is not available"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
PYTHONPATH="$source_dir/python" PYTHONDONTWRITEBYTECODE=1 python3 "$source_dir/tests/python/store_checks.py" "$weft"
