#!/bin/bash
# --precondition muon: two ranks train as one does; a training that stopped goes on to the bit, as velocities are the
# optimiser's; the loss is another than without it; what has no hidden matrix or no equal replicas is refused.
# needs: mpirun
# timeout: 120
# trees: release
set -u
weft=$(realpath "$1")
source_dir=$(realpath "$2")
. "$source_dir/tests/support/script.sh"
need python3
work_folder
options=(--data synth:images,n=64,test=16,size=16,channels=1,classes=3 --model lenet --batch-size 16 --threads 1)

# run FOLDER OPTION...
run() {
    "$weft" train "${options[@]}" --quiet --run-dir "$@" >"$1.out" 2>&1 || fail "$1: $(tail -n 3 "$1.out")"
}
run plain --epochs 4
run whole --epochs 4 --precondition muon --schedule constant
run half --epochs 2 --precondition muon --schedule constant
run half --epochs 4 --precondition muon --schedule constant --resume
cmp -s whole/weights.npz half/weights.npz || fail "a resumed training has other weights"
ranks 2 "$weft" train "${options[@]}" --quiet --run-dir two --epochs 4 --precondition muon --schedule constant >two.out 2>&1 ||
    fail "two ranks: $(tail -n 3 two.out)"
python3 - <<'END' || fail "losses"
import json

def losses(run):
    return [json.loads(line)["loss"] for line in open(run + "/metrics.jsonl")]

one, two, plain = losses("whole"), losses("two"), losses("plain")
assert max(abs(a - b) for a, b in zip(one, two)) < 2e-2, (one, two)
assert len(one) == 4 and abs(one[-1] - plain[-1]) > 1e-4, (one, plain)
END

refuse() {
    "$weft" train "${@:2}" --run-dir refused >refused.out 2>&1 && fail "accepted: ${*:2}"
    grep -q -- "$1" refused.out || fail "${*:2}: $(cat refused.out)"
}
refuse "allreduce" "${options[@]}" --precondition muon --sync topk
refuse "has 2 layers" --data synth:quickstart,scale=0.01 --model gcn --layers 2 --precondition muon
echo "muon: ok"
