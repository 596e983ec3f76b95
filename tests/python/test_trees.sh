#!/usr/bin/env bash
# python/weft/trees.py: trainings and answers beside the program's.
# trees: release
# timeout: 120
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
python3 -c 'import numpy' 2>/dev/null || skip "python3 with NumPy is not available"
need mpirun

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PYTHONPATH="$source_dir/python" PYTHONDONTWRITEBYTECODE=1
python3 "$source_dir/tests/python/trees_checks.py" "$weft"
