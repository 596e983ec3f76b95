#!/bin/bash
# Ten configurations train 20 epochs twice (images: 4), and every loss and every weight has the same bits. By itself: two runs of one
# program. With another build of the program, whether a change that was not meant to change the arithmetic did:
#
#   tests/train/test_same_bits.sh build/release/weft . OTHER-WEFT
#
# Every option that choices or defaults could move is spelled, in words that both programs know.
# needs: mpirun
set -u
weft=$(realpath "$1")
source_dir=$(realpath "$2")
other=$(realpath "${3:-$weft}")
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
work_folder
export XDG_CACHE_HOME=$work/cache
"$weft" convert synth:quickstart,scale=0.01 --out classes --quiet || fail "convert"

fixed=(--quiet --threads 1 --epochs 20 --runs 1 --seed 7 --eval-every 5 --patience 0 --spmm rows --reorder none --order
    auto --weight-decay 5e-4 --normalize none --layers 2 --dropout 0.5
    --input-dropout 0.25 --calibrate never --checkpoint-every 0 --comm-thread off --aggregator mean --loss auto)

# config NAME RANKS OPTION...
config() {
    local name=$1 count=$2 program which
    shift 2
    for which in one two; do
        program=$weft
        [ $which = two ] && program=$other
        ranks "$count" "$program" train "${fixed[@]}" "$@" --run-dir "$which-$name" >out 2>err ||
            fail "$name ($program): $(cat err)"
    done
    python3 - "$name" <<'PY' || fail "$name: other bits"
import json, sys, zipfile

def read(folder):
    lines = [json.loads(line) for line in open(folder + "/metrics.jsonl")]
    with zipfile.ZipFile(folder + "/weights.npz") as archive:
        weights = {name: archive.read(name) for name in archive.namelist()}
    return [line["loss"] for line in lines], weights

(losses, weights), (other_losses, other_weights) = (read(which + sys.argv[1]) for which in ("one-", "two-"))
assert len(losses) == len(other_losses) in (4, 20) and losses[-1] < losses[0], losses
assert len(weights) >= 2 and weights.keys() == other_weights.keys(), (weights.keys(), other_weights.keys())
for epoch, pair in enumerate(zip(losses, other_losses), 1):
    assert pair[0] == pair[1], f"loss of epoch {epoch}: {pair[0]!r} and {pair[1]!r}"
for name in weights:
    assert weights[name] == other_weights[name], f"{name} differs"
print(f"{sys.argv[1]}: {len(losses)} losses and {len(weights)} arrays of weights, same bits")
PY
}

nodes=(--ranks-per-node 1)
adam=(--optimizer adam --lr 0.01 --schedule constant)
config sage-1 1 --data classes --model sage --hidden 16 --norm none --sync allreduce --reproducible "${adam[@]}"
config gcn-metis-2 2 --data classes --model gcn --hidden 32 --norm none --partition metis --sync allreduce --reproducible "${adam[@]}"
config mlp-random-3 3 --data classes --model mlp --hidden 16 --norm layer --partition random --sync allreduce \
    --allreduce ring --overlap split --bucket 4KiB "${adam[@]}"
config sage-libra-4 4 --data classes --model sage --hidden 16 --norm batch --partition libra --sync allreduce \
    --allreduce halving-doubling --overlap backward --bucket 4KiB "${adam[@]}"
config gcn-2d-4-bf16 4 --data classes --model gcn --hidden 16 --norm batch --partition 2d --sync allreduce \
    --allreduce fixed-order --wire bf16 "${nodes[@]}" "${adam[@]}"
config sage-edgecut-2-topk 2 --data classes --model sage --hidden 64 --norm none --partition edgecut --sync topk \
    --topk-density 0.05 --topk-exchange all-gather --topk-dense-below 64 "${nodes[@]}" "${adam[@]}"
config gcn-metis-4-divide-shuffle 4 --data classes --model gcn --hidden 16 --norm none --partition metis \
    --sync divide-shuffle --group-size 2 --gradient-tracking=on --allreduce fixed-order "${nodes[@]}" "${adam[@]}"
config sage-sgd-3 3 --data classes --model sage --hidden 16 --norm layer --partition metis --sync allreduce \
    --reproducible --optimizer sgd --momentum 0.9 --nesterov --lr 0.05 --schedule cosine --warmup 3

# Images: batches in parts, prepared by a thread or by the caller.
images=synth:images,n=96,size=16,classes=3
fixed=(--quiet --threads 1 --epochs 4 --runs 1 --seed 7 --eval-every 2 --patience 0 --checkpoint-every 0 --comm-thread off
    --calibrate never --loss auto --optimizer sgd --momentum 0.9 --schedule constant --lr 0.02 --weight-decay 5e-4)
config resnet-3-parts 3 --data $images --model resnet-20 --batch-size 24 --accumulate 2 --loader-threads 1 \
    --sync allreduce --reproducible
config mlp-images-2-bf16 2 --data $images --model mlp --batch-size 16 --precision bf16 --loader-threads 0 \
    --sync allreduce --allreduce fixed-order "${nodes[@]}"
echo "same bits in ten configurations"
