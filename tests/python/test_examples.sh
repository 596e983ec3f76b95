#!/usr/bin/env bash
# The examples of docs/howto-python.md, as they stand, with the training between them. needs: mpirun
# trees: release
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
python3 -c 'import numpy' 2>/dev/null || skip "python3 with NumPy is not available"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# example-1.py, example-2.py, ...: the blocks of Python.
awk '/^```python$/ {n++; on = 1; next} /^```$/ {on = 0} on {print > ("example-" n ".py")}' "$source_dir/docs/howto-python.md"
[ "$(ls example-*.py | wc -l)" -eq 3 ] || fail "docs/howto-python.md has not three examples: $(ls)"
training=$(grep '^mpirun -np 2 weft train ' "$source_dir/docs/howto-python.md") || fail "no training in the guide"

export PYTHONPATH="$source_dir/python" PYTHONDONTWRITEBYTECODE=1 WEFT=$weft
python3 -W error example-1.py >first.txt 2>err.txt || fail "$(cat err.txt)"
"$weft" info graph.weft --check >info.txt
grep -q 'every invariant hold' info.txt || fail "$(cat info.txt)"
grep -q '^test accuracy 0\.[6-9]' first.txt && [ -s run/report.html ] || fail "$(cat first.txt)"
python3 -W error example-2.py >trees.txt 2>err.txt || fail "$(cat err.txt)"
grep -q '^right: 0\.[89]' trees.txt && grep -q "what counts: {'age'" trees.txt && [ -s model.json ] || fail "$(cat trees.txt)"
ranks 2 "$weft" ${training#mpirun -np 2 weft } >out.txt 2>err.txt || fail "$(cat err.txt)"
python3 -W error example-3.py >told.txt
cat first.txt trees.txt told.txt
# The accuracy that Python computes is the one that the training reports, and better than guessing.
reported=$(sed -n 's/^ *Final Test: \([0-9.]*\) .*/\1/p' out.txt)
python3 - "$reported" <<'PY'
import re
import sys

told = open("told.txt", encoding="utf-8").read()
computed = float(re.search(r"test accuracy ([0-9.]+)", told).group(1))
best = float(re.search(r"test ([0-9.]+)$", told, re.M).group(1))
assert abs(computed - float(sys.argv[1]) / 100) < 6e-4 and abs(computed - best) < 2e-3, (computed, best, sys.argv[1])
assert computed > 0.5, computed
PY
ranks 2 "$weft" train --data graph.weft --hidden 16 --epochs 1 --lr 0 --quiet --init-weights start.npz --run-dir again \
  >/dev/null 2>err.txt || fail "$(cat err.txt)"
cmp pair/predictions.npy again/predictions.npy || fail "parameters that went through Python predict something else"
