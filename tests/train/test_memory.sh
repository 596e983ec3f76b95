#!/bin/bash
# What a training says that it will need is what it needed: predicted and measured peak of jobs whose parameters are most of it, with
# two optimisers, batches in parts, and second order, whose eigenvectors take scratch memory beside it. The measured one has code and tables of libraries besides.
# trees: release
set -u
weft=$(realpath "$1")
source_dir=$(realpath "$2")
. "$source_dir/tests/support/script.sh"
need python3
work_folder
export XDG_CACHE_HOME=$work/cache
"$weft" convert synth:quickstart,scale=0.01 --out graph --quiet || fail "convert"

# job NAME OPTION...
job() {
    local name=$1
    shift
    "$weft" train --quiet --threads 1 --epochs 1 --runs 1 --seed 1 --run-dir "$name" "$@" >out 2>err || fail "$name: $(cat err)"
    python3 - "$name" "${least:-0.85}" <<'PY' || fail "$name: another peak than predicted"
import json, sys
summary = json.load(open(sys.argv[1] + "/summary.json"))
told, found = summary["predicted_peak_bytes"] / 1e6, summary["peak_rss_bytes"] / 1e6
print(f"{sys.argv[1]}: predicted {told:.0f} MB, measured {found:.0f} MB")
sys.exit(not float(sys.argv[2]) * found <= told <= 1.12 * found)
PY
}

cat >wide.net <<'NET'
linear 1600
relu
linear 1600
relu
linear classes
NET
images=(--data synth:images,n=8,size=16,classes=4 --model wide.net --batch-size 4 --lr 0.01)
job adam "${images[@]}" --optimizer adam
job parts-of-sgd "${images[@]}" --optimizer sgd --accumulate 2
job graph --data graph --model sage --layers 3 --hidden 768
least=0.95 job kfac --data graph --model sage --layers 2 --hidden 1024 --precondition kfac
