#!/bin/bash
# What is chosen by measuring stands in run.json and the checkpoint: a resumed run, and another one that is given the
# words, have the same bits. A choice that is given is the one that runs; one that makes no sense is refused.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
work_folder
export XDG_CACHE_HOME=$work/cache
"$weft" convert synth:quickstart,scale=0.1 --out store --quiet || fail "convert"

# train FOLDER EPOCHS OPTION...
train() {
    local folder=$1 epochs=$2
    shift 2
    ranks 2 "$weft" train --data store --epochs "$epochs" --threads 1 --quiet --run-dir "$folder" "$@" >out 2>err ||
        fail "$folder $*: $(cat err)"
}
# choices FOLDER: as run.json has them.
choices() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/run.json"))["options"]["choices"]["value"])' "$1"
}
same_bits() {
    python3 - "$1" "$2" <<'PY' || fail "$1 and $2 differ"
import json, sys, zipfile
def read(folder):
    with zipfile.ZipFile(folder + "/weights.npz") as archive:
        weights = {name: archive.read(name) for name in archive.namelist()}
    return [json.loads(line)["loss"] for line in open(folder + "/metrics.jsonl")], weights
(losses, weights), (other_losses, other_weights) = read(sys.argv[1]), read(sys.argv[2])
assert len(losses) == 8 and losses == other_losses, (losses, other_losses)
assert weights and weights == other_weights
PY
}

# ---- what was measured is told, and can be given ----
train first 8
told=$(choices first)
[[ $told =~ ^allreduce=[a-z-]+\ spmm=[rblt-]{8}(,[rblt-]{8})?$ ]] || fail "run.json tells: $told"
train again 8 --choices "$told"
[ "$(choices again)" = "$told" ] || fail "given $told, told $(choices again)"
same_bits first again

# ---- a resumed run goes on with its checkpoint's choice, whatever would be chosen today ----
unlikely="allreduce=ring spmm=b-------,r-------"
train undisturbed 8 --choices "$unlikely"
train resumed 5 --choices "$unlikely" --checkpoint-every 1
train resumed 8 --resume --calibrate always
[ "$(choices resumed)" = "$unlikely" ] || fail "resumed with $(choices resumed)"
same_bits undisturbed resumed
grep -q '"gradient": {"bytes": [1-9]' resumed/metrics.jsonl || fail "no ring: gradients were not sent as messages"

# ---- what is named is not overruled, and not told ----
train named 2 --spmm lists --allreduce halving-doubling
[ "$(choices named)" = "" ] || fail "named options are told: $(choices named)"
train reproducible 2 --reproducible --spmm rows
[ "$(choices reproducible)" = "" ] || fail "--reproducible measures: $(choices reproducible)"

train sparse 2 --sync topk --spmm rows
told=$(choices sparse)
[[ $told =~ ^allreduce=[a-z-]+\ topk=[a-z-]+:[0-9.e-]+:[a-z-]+$ ]] || fail "of topk run.json tells: $told"
train exchange 2 --sync topk --spmm rows --allreduce ring --topk-exchange ok-topk
[ "$(choices exchange)" = "" ] || fail "a named exchange is told: $(choices exchange)"

# ---- refused before anything is read ----
refused() {
    ranks 2 "$weft" train --data none --run-dir refused --choices "$1" >out 2>err && fail "taken: $1"
    grep -q -- "$2" err || fail "$1: not '$2' in $(cat err)"
}
refused "allreduce=sharing" "allreduce=sharing is none of --allreduce's algorithms"
refused "spmm=lists" "no code of 8 letters"
refused "spmm=l-------,l-" "no code of 8 letters"
refused "spmm=l-------l-------" "no code of 8 letters"
refused "spmm=l-------,l-------,l-------" "each of the 2 ranks"
refused "spmm=x-------" "a code is made of"
refused "topk=hierarchic:0.1:ring" "has to be EXCHANGE:DENSITY:ALGORITHM"
refused "topk=hierarchical:1.5:ring" "from 0 to 1"
refused "topk=hierarchical:0.1" "of --allreduce"
refused "halo=4" "halo=4 is none of"
exit 0
