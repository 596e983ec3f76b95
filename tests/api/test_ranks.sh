#!/usr/bin/env bash
# Example 01 under mpirun: one voice, and one rank's accuracy. needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
example=$(dirname "$weft")/examples/01_train
work_folder

"$example" one >one.out || fail "01_train on one rank"
for count in 2 3; do
    ranks $count "$example" many >many.out 2>many.err || fail "01_train on $count ranks: $(cat many.err)"
    [ "$(wc -l <many.out)" -eq 2 ] || fail "not two lines from $count ranks: $(cat many.out)"
    grep -q " on $count ranks" many.out || fail "not $count ranks: $(cat many.out)"
    # Sums are rounded in another order: scores move by a few vertices at most.
    python3 - one.out many.out <<'PYTHON' || fail "$count ranks: another accuracy: $(cat many.out)"
import sys
one, many = (float(open(name).readline().split()[2]) for name in sys.argv[1:])
sys.exit(abs(one - many) > 0.02)
PYTHON
done
# A failure that all ranks agree on ends all of them, with its code.
ranks 2 "$example" /proc/nowhere >/dev/null 2>bad.err && fail "a run folder in /proc"
grep -q /proc/nowhere bad.err || fail "the message does not name the folder: $(cat bad.err)"
echo "ranks: ok"
