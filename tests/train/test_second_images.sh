#!/bin/bash
# --precondition on images: P ranks and micro-batches train as one rank and one batch do, by eigenvectors, by inverses
# and by inputs; a training that stopped between two inversions goes on to the bit; bfloat16 follows float32; kfac learns
# faster than the same run without it; an optimiser that rescales gradients has no clip; what has no meaning is refused.
# needs: mpirun
# timeout: 120
# trees: release
set -u
weft=$(realpath "$1")
source_dir=$(realpath "$2")
. "$source_dir/tests/support/script.sh"
need python3
program=$(dirname "$weft")/tests/mpi_jobs
[ -x "$program" ] || skip "no $program"
work_folder
data=synth:images,n=64,test=16,size=16,channels=1,classes=3

# row RUN FILE OPTION...: one training, a line of FILE.
row() {
    echo "data=$data model=lenet batch-size=16 threads=1 calibrate=never epochs=3 schedule=constant warmup=0 lr=0.01 run-dir=$1 ${*:3}" >>"$2"
}
# train RANKS FILE
train() {
    ranks "$1" "$program" "$2" >"$2.out" 2>"$2.err" || fail "$2 on $1 ranks: $(tail -n 5 "$2.err")"
}

methods=("precondition=kfac precondition-clip=1e-3" "precondition=kfac precondition-solve=inverse precondition-damping=absolute:0.003"
    "precondition=input precondition-place=mem-opt precondition-form=reduce")
for m in "${!methods[@]}"; do # an inversion of step 6 acts in step 8, and the next factors are of step 9
    options="${methods[m]} precondition-factors=3 precondition-interval=6"
    row "one-$m" jobs-1 "$options"
    row "half-$m" jobs-1 "$options epochs=2"
    row "half-$m" resumes-1 "$options resume=on"
    row "parts-$m" jobs-1 "$options accumulate=2"
    for p in 2 4; do
        row "ranks-$m-$p" "jobs-$p" "$options"
    done
done
row bf16-1 jobs-1 "${methods[1]} precondition-factors=3 precondition-interval=6 precision=bf16"
row plain jobs-1 epochs=3
row rescaled jobs-1 optimizer=adadelta lr=0.1 precondition=kfac
for p in 1 2 4; do
    train $p jobs-$p
done
train 1 resumes-1
for m in "${!methods[@]}"; do
    cmp -s "one-$m/weights.npz" "half-$m/weights.npz" || fail "a resumed training has other weights: ${methods[m]}"
done

python3 - <<'END' || fail "losses"
import glob, json

def epochs(run):
    return [json.loads(line) for line in open(run + "/metrics.jsonl")]

for other in sorted(glob.glob("ranks-*") + glob.glob("parts-*") + ["bf16-1"]):
    one, many = epochs("one-" + other.split("-")[1]), epochs(other)
    far = max(abs(a["loss"] - b["loss"]) for a, b in zip(one, many))
    assert len(one) == len(many) == 3 and far < (1e-2 if other == "bf16-1" else 1e-3), (other, far)
rescaled = epochs("rescaled")
assert rescaled[2]["loss"] < 0.9 * rescaled[0]["loss"] and all(epoch["second_clip"] == 1 for epoch in rescaled), rescaled
kfac, plain = epochs("one-0"), epochs("plain")
assert kfac[2]["loss"] < 0.9 * plain[2]["loss"], (kfac[2]["loss"], plain[2]["loss"])
assert 0 < kfac[0]["second_clip"] <= 1 and kfac[0]["second_damping"] == 1 and kfac[0]["second_refused"] == 0
assert kfac[2]["second_inverses_s"] >= 0 and kfac[2]["second_steps_s"] > 0 and "second_clip" not in plain[0]
END

refuse() {
    "$weft" train --data "$data" --model lenet --batch-size 16 --run-dir refused "${@:2}" >refused.out 2>&1 &&
        fail "accepted: ${*:2}"
    grep -q -- "$1" refused.out || fail "${*:2}: $(cat refused.out)"
}
for mode in shadow asp divide-shuffle; do
    refuse "replicas differ" --precondition kfac --sync $mode
done
refuse "absolute:" --precondition kfac --precondition-damping absolute:-1
refuse "not a multiple" --precondition input --precondition-factors 4 --precondition-interval 6
echo "second order on images: ok"
