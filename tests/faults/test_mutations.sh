#!/bin/bash
# Files of every format, changed at random, given to the program (mutate.py says what may not happen). A few of each format here;
# WEFT_LONG=1: 180 of each, more than 10,000.
# trees: release
# timeout: 600
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
python3 -c 'import numpy' 2>/dev/null || skip "Python has no NumPy"
count=3
[ -n "${WEFT_LONG:-}" ] && count=180
exec python3 "$source_dir/tests/faults/mutate.py" "$weft" "$source_dir" --count $count
