#!/usr/bin/env bash
# python/weft: what weft.train, runs and their answers are beside the command; and its keywords are the program's options.
# trees: release
# timeout: 300
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
python3 -c 'import numpy' 2>/dev/null || skip "python3 with NumPy is not available"
need mpirun

"$source_dir/scripts/python_options" "$weft" | diff "$source_dir/python/weft/options.py" - ||
    fail "python/weft/options.py is not what scripts/python_options prints: regenerate it"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PYTHONPATH="$source_dir/python" PYTHONDONTWRITEBYTECODE=1 WEFT=$weft
python3 -W error "$source_dir/tests/python/training_checks.py"
cat >pair.py <<'PY'
import weft
run = weft.train("synth:quickstart,scale=0.02", epochs=2, run_dir="pair", quiet=True)
assert run.summary["ranks"] == 2
PY
ranks 2 python3 pair.py || fail "a script under mpirun does not train on its ranks"
# The examples of the notebook, cell by cell.
python3 - "$source_dir/docs/examples/train.ipynb" >told.txt <<'PY'
import json
import sys
names = {}
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), "cell", "exec"), names)
PY
grep -q '^test accuracy 0\.[89]' told.txt || fail "$(cat told.txt)"
