#!/usr/bin/env bash
# bench/measure: the pages hold the tables of bench/results; quartiles and digits against values by hand; a page that was edited is
# noticed and mended; a result of --quick comes on no page; what stands is not measured again; a subject that fails or hangs
# costs no other.
# trees: release
# timeout: 120
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
measure=$source_dir/bench/measure
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PYTHONDONTWRITEBYTECODE=1

"$measure" --check || fail "a page differs from bench/results"

python3 - "$source_dir/bench" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
import measuring, tables
# Quartiles by hand: between samples 1, 2, 3, 4 at places 0.75, 1.5, 2.25 from the first.
found = measuring.quartiles([4, 1, 3, 2])
assert (found["q1"], found["median"], found["q3"], found["n"], found["samples"]) == (1.75, 2.5, 3.25, 4, [4, 1, 3, 2]), found
one = measuring.quartiles([7.0])
assert (one["q1"], one["median"], one["q3"]) == (7.0, 7.0, 7.0), one
for value, text in ((0.18449, "0.184"), (9.9961, "10.0"), (1366.4, "1366"), (0.00014, "0.000140"), (-2.345, "-2.35"), (0, "0")):
    assert measuring.digits(value) == text, (value, measuring.digits(value))
calls = []
turns = measuring.take_turns(2, {"a": lambda: calls.append("a") or len(calls), "b": lambda: calls.append("b") or len(calls)})
assert calls == ["a", "b", "a", "b"] and turns == {"a": [1, 3], "b": [2, 4]}, (calls, turns)
cell = measuring.quartiles([0.001, 0.002, 0.003])
assert tables.written(cell, {"scale": 1e3}) == "2.00 (1.50-2.50)" and tables.written(cell, {"spread": False}) == "0.00200"
import importlib.machinery, importlib.util, os
loader = importlib.machinery.SourceFileLoader("peers_run", os.path.join(sys.argv[1], "peers", "run"))
peers = importlib.util.module_from_spec(importlib.util.spec_from_loader("peers_run", loader))
loader.exec_module(peers)
lines = [{"epoch": 1, "epoch_s": 2.0, "test": 0.5}, {"epoch": 2, "epoch_s": 1.0}, {"epoch": 3, "epoch_s": 1.5, "test": 0.9},
         {"epoch": 4, "epoch_s": 9.0, "test": 0.95}]
assert peers.reached(lines, 0.9) == {"reached": True, "seconds": 4.5, "epochs": 3, "accuracy": 0.9} and peers.reached(lines, 0.96) is None
assert tables.written(None, {}) == "-" and tables.written(8.1e-8, {"format": ".0e"}) == "8e-08"
PY

mkdir results
cat >results/one.json <<'JSON'
{"subject": "one", "quick": false, "commands": ["weft train --data build/measure/reddit"], "columns": [{"head": "model"}, {"head": "s"}],
 "rows": [["SAGE", {"median": 0.5, "q1": 0.25, "q3": 0.75, "n": 3, "samples": [0.25, 0.5, 0.75]}], ["GCN", null]]}
JSON
printf 'Before.\n<!-- measured: one -->\n<!-- end -->\n<!-- table: none -->\nold\n<!-- end -->\nBehind.\n' >page.md
"$measure" --check --out results --page page.md 2>log && fail "a page without its table passed"
grep -q 'page.md: tables differ' log || fail "$(cat log)"
"$measure" --tables --out results --page page.md
cat >wanted.md <<'PAGE'
Before.
<!-- measured: one -->
```
weft train --data build/measure/reddit
```

| model | s |
|---|---|
| SAGE | 0.500 (0.250-0.750) |
| GCN | - |
<!-- end -->
<!-- table: none -->
`none` was not measured on this machine yet.
<!-- end -->
Behind.
PAGE
cmp page.md wanted.md || fail "$(cat page.md)"
"$measure" --check --out results --page page.md || fail "the written page does not pass"
sed -i 's/"quick": false/"quick": true/' results/one.json
"$measure" --tables --out results --page page.md 2>log && fail "a quick result came on a page"
grep -q 'measured with --quick' log || fail "$(cat log)"

# A program that fails where `memory` asks for 256 columns.
cat >weft.sh <<SCRIPT
#!/bin/sh
case " \$* " in
*" --hidden 256 "*) echo "no room" >&2; exit 74 ;;
esac
exec "$weft" "\$@"
SCRIPT
chmod +x weft.sh
"$measure" --quick --weft "$work/weft.sh" --work "$work/measure" memory startup >out 2>log && fail "a failed subject is no failure"
grep -q '^memory: exit 1' out && grep -q 'no room' log || fail "memory: $(cat out log)"
grep -q '^startup: done' out || fail "startup was lost: $(cat out log)"
[ ! -e measure/results/memory.json ] || fail "a failed subject left a result"
python3 - <<'PY'
import json
found = json.load(open("measure/results/startup.json"))
cell = found["rows"][0][1]
assert found["quick"] and cell["n"] == len(cell["samples"]) == 2 and min(cell["samples"]) <= cell["median"] <= max(cell["samples"]), cell
assert found["machine"]["processor"] and found["machine"]["cores"] >= 1 and found["build"]["compiler"] and found["date"], found
assert any("weft train --data build/measure/reddit-quick" in command for command in found["commands"]), found["commands"]
PY
"$measure" --quick --weft "$work/weft.sh" --work "$work/measure" startup >out 2>log
grep -q '^startup: stands in' out || fail "measured again: $(cat out)"
printf '#!/bin/sh\n[ "$1" = train ] && exec sleep 60\nexec "%s" "$@"\n' "$weft" >weft.sh
"$measure" --quick --again --limit 1 --weft "$work/weft.sh" --work "$work/measure" startup >out 2>log && fail "the limit is no failure"
grep -q '^startup: stopped after its limit of 1' out || fail "no limit: $(cat out log)"
echo "tables, quartiles, a failed subject, a limit: as they should"
