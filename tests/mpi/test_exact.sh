#!/bin/bash
# P ranks train as one does: losses of 50 epochs with dropout within 1e-4 relative, final test accuracy within one vertex,
# for every partitioner, both models, through the command.
# needs: mpirun
# timeout: 900
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$weft" train --data synth:quickstart,scale=0.03 --dry-run >/dev/null || fail "dry run"

# run NAME RANKS METHOD MODEL
run() {
    ranks "$2" "$weft" train --quiet --data synth:quickstart,scale=0.03 --model "$4" --partition "$3" --threads 1 \
        --epochs 50 --eval-every 10 --seed 3 --run-dir "$work/$1" >"$work/$1.out" 2>"$work/$1.err" ||
        fail "$1: $(cat "$work/$1.err")"
}

for model in sage gcn; do
    run "$model-1" 1 random "$model"
    for method in metis libra random edgecut; do
        for count in 2 3 4 8; do
            run "$model-$method-$count" "$count" "$method" "$model"
            python3 - "$work/$model-1" "$work/$model-$method-$count" "$count" <<'PY' || fail "$model $method on $count ranks"
import json, sys
one, many = ([json.loads(l) for l in open(d + "/metrics.jsonl")] for d in sys.argv[1:3])
assert len(one) == len(many) == 50, (len(one), len(many))
worst = max(abs(a["loss"] - b["loss"]) / abs(a["loss"]) for a, b in zip(one, many))
assert worst <= 1e-4, f"loss differs by {worst:.2e} relative"
tests = 750  # a quarter of 3,000 vertices
assert abs(one[-1]["test"] - many[-1]["test"]) <= 1.001 / tests, (one[-1]["test"], many[-1]["test"])
summary = json.load(open(sys.argv[2] + "/summary.json"))
assert summary["ranks"] == int(sys.argv[3]), summary["ranks"]
assert summary["allocations_after_first_epoch"] == 0, summary["allocations_after_first_epoch"]
print(f"{sys.argv[2].rsplit('/', 1)[1]}: loss within {worst:.1e}")
PY
        done
    done
done
echo "exact on every rank count"
