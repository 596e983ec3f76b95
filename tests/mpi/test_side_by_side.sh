#!/bin/bash
# Two different trainings side by side, each on two of the four ranks of one MPI job: every loss, every weight and every
# prediction has the bits of `weft train` with the same options alone on two ranks. One of the two synchronises by groups of
# its own, and each writes checkpoints; both log under a name, by their own rank 0.
# needs: mpirun
set -u
weft=$1
source_dir=$2
program=$(dirname "$weft")/tests/mpi_side_by_side
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
[ -x "$program" ] || skip "no $program"
work_folder
export XDG_CACHE_HOME=$work/cache
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"

common=(data=store threads=1 comm-thread=off calibrate=never runs=2 eval-every=3 checkpoint-every=5 ranks-per-node=1)
sage=("${common[@]}" model=sage hidden=24 partition=libra epochs=8 seed=3 sync=topk topk-density=0.05 topk-dense-below=64)
gcn=("${common[@]}" model=gcn hidden=16 partition=metis epochs=12 seed=4 sync=divide-shuffle group-size=2 norm=batch)

ranks 4 "$program" "${sage[@]}" run-dir=beside-sage -- "${gcn[@]}" run-dir=beside-gcn >out 2>err || fail "$(cat err)"
[ "$(grep -c '^weft: beside: Run 02: Highest Valid' err)" -eq 2 ] || fail "not one speaker a job: $(cat err)"
ranks 2 "$weft" train "${sage[@]/#/--}" --run-dir alone-sage >out 2>err || fail "sage alone: $(cat err)"
ranks 2 "$weft" train "${gcn[@]/#/--}" --run-dir alone-gcn >out 2>err || fail "gcn alone: $(cat err)"

python3 - <<'PY' || fail "other bits"
import json, zipfile

def read(folder):
    lines = [json.loads(line) for line in open(folder + "/metrics.jsonl")]
    with zipfile.ZipFile(folder + "/weights.npz") as archive:
        weights = {name: archive.read(name) for name in archive.namelist()}
    with open(folder + "/predictions.npy", "rb") as stream:
        predictions = stream.read()
    kept = ("run", "epoch", "loss", "train", "valid", "test", "comm_bytes")
    return [{key: line.get(key) for key in kept} for line in lines], weights, predictions

seen = {}
for name, epochs in (("sage", 16), ("gcn", 24)):
    beside, alone = read("beside-" + name), read("alone-" + name)
    assert len(alone[0]) == epochs and alone[0][epochs // 2 - 1]["loss"] < alone[0][0]["loss"], alone[0]
    for a, b in zip(beside[0], alone[0]):
        assert a == b, (name, a, b)
    assert len(beside[0]) == epochs and beside[1] == alone[1] and beside[2] == alone[2], name
    seen[name] = alone[2]
assert seen["sage"] != seen["gcn"]
print("same losses, weights and predictions side by side and alone")
PY
