#!/usr/bin/env bash
# Edges in python/weft/store.py: rows against sets of pairs, memory, what is told on stderr, warned about and refused.
# Needs python3 with NumPy.
# trees: release
set -euo pipefail
source_dir=$2
. "$source_dir/tests/support/script.sh"
python3 -c 'import numpy' 2>/dev/null || skip "python3 with NumPy is not available"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
PYTHONPATH="$source_dir/python" PYTHONDONTWRITEBYTECODE=1 python3 "$source_dir/tests/python/edge_checks.py"
