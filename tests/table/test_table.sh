#!/usr/bin/env bash
# weft convert of tables: stores beside what Python's csv module and NumPy read of the same files, and every refusal with file,
# line, column, value and cure. Needs python3 with NumPy.
# trees: asan
# timeout: 120
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
python3 -c 'import numpy' 2>/dev/null || skip "python3 with NumPy is not available"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=2
PYTHONDONTWRITEBYTECODE=1 python3 "$source_dir/tests/table/table_checks.py" "$weft" "${WEFT_SHARED:-$source_dir/../shared}/data"
