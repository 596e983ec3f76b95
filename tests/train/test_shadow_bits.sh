#!/bin/bash
# Training on the shadow device, whose results appear as late as the rules of hal/hal.h allow and whose memory the host
# cannot touch, has the bits of training on the CPU: every loss and every weight, for batch norm and layer norm, classes
# and several ranks, cut and shared vertices.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
work_folder
export XDG_CACHE_HOME=$work/cache
"$weft" convert synth:quickstart,scale=0.01 --out classes --quiet || fail "convert"

fixed=(--quiet --threads 1 --epochs 6 --runs 1 --seed 7 --eval-every 3 --spmm rows --calibrate never
    --hidden 16 --sync allreduce --reproducible --dropout 0.5)

# config NAME RANKS OPTION...
config() {
    local name=$1 count=$2 backend
    shift 2
    for backend in cpu shadow; do
        ranks "$count" "$weft" train --data classes "${fixed[@]}" "$@" --backend $backend --run-dir "$backend-$name" \
            >out 2>err || fail "$name on $backend: $(cat err)"
    done
    python3 - "$name" <<'PY' || fail "$name: other bits"
import json, sys, zipfile

def read(folder):
    losses = [json.loads(line).get("loss") for line in open(folder + "/metrics.jsonl")]
    with zipfile.ZipFile(folder + "/weights.npz") as weights:
        return [x for x in losses if x is not None], {name: weights.read(name) for name in weights.namelist()}

one, two = (read(backend + "-" + sys.argv[1]) for backend in ("cpu", "shadow"))
assert len(one[0]) == 6 and one[0] == two[0], (one[0], two[0])
assert one[1] and one[1] == two[1]
PY
}

config batch 1 --model sage --norm batch
config batch-3 3 --model gcn --norm batch --partition random
config layer-2 2 --model sage --norm layer --partition metis
config none-4 4 --model gcn --norm none --partition 2d
echo "same bits in four configurations"
