#!/bin/bash
# weft info on what it can be pointed at: hardware, build, store, run folder; and run.json's versions.
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work_folder
export XDG_CACHE_HOME=$work/cache

says() {
    grep -qE -- "$1" out || fail "no '$1' in: $(cat out)"
}

# Timings that an earlier job kept are printed, the fastest first; a damaged file is passed over.
export XDG_CACHE_HOME=$PWD/cache
mkdir -p cache/weft
"$weft" info hardware >out 2>err || fail "hardware: $(cat err)"
grep -q "all-reduces timed" out && fail "timings from nowhere: $(cat out)"
version=$("$weft" --version --verbose | sed -n 's/^\(weft\|compiler\|build\): //p' | paste -sd '|' | sed 's/|/, /g')
zeros="0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"
cat >cache/weft/comm-1.json <<JSON
{"format": "weft-comm-model 4", "nodes": "ant:2", "machine": "m", "ranks": 2, "transport": "mpi", "mpi": "x", "weft": "$version",
 "inter": {"latency": 1, "seconds_per_byte": 1}, "intra": {"latency": 1, "seconds_per_byte": 1}, "paired_per_byte": 1,
 "sync": 1, "shared_per_byte": 1, "reduce_per_byte": 1, "select_per_element": 1, "scatter_per_element": 1,
 "timed_ranks": 2, "timed": {"ring": [4e-06, $zeros], "shared": [2.5e-07, $zeros]}}
JSON
echo '{' >cache/weft/comm-2.json
"$weft" info hardware >out 2>err || fail "hardware: $(cat err)"
says "^all-reduces timed on 2 ranks of a node, in microseconds .*cache/weft/comm-1.json"
says "^  4 bytes +shared 0.25, ring 4$"
[ "$(grep -c "all-reduces timed" out)" -eq 1 ] || fail "damaged timings: $(cat out)"
says "^processor: "
says "^cores: [0-9]+, "
says "^topology: .*PU"
says "^instruction set: (sse2|avx|avx2|avx512), up to [0-9]+ float32"
says "^memory: [0-9.]+ GiB, "
cp out hardware
"$weft" info >out 2>err || fail "no argument: $(cat err)"
[ "$(grep -c . out)" -eq "$(grep -c . hardware)" ] || fail "without an argument it is not the hardware"

"$weft" info build >out 2>err || fail "build: $(cat err)"
for name in weft revision compiler build glibc zlib xxhash OpenMP oneDNN LAPACK hwloc libnuma MPI METIS JPEG libpng; do
    says "^$name: ."
done
"$weft" --version --verbose >version
[ "$(grep -c '^NCCL: ' out)" -eq "$(grep -c '^CUDA: [^n]' out)" ] || fail "NCCL and builds without devices: $(cat out)"
[ "$(tail -n +2 version)" = "$(cat out)" ] || fail "weft --version -v differs from weft info build: $(cat version)"

# ---- a run folder ----
"$weft" convert synth:quickstart,scale=0.02 --out store --quiet || fail "convert"
"$weft" train --data store --epochs 3 --hidden 24 --run-dir run --quiet >closing 2>err || fail "train: $(cat err)"
"$weft" info run >out 2>err || fail "run folder: $(cat err)"
says "^kind: run folder"
says "^--hidden \(command line\): 24"
grep -q "^--lr " out && fail "an option left at its default is told"
says "^exit: 0 "
says "^graph name: quickstart$"
says "^graph vertices: 2000$"
says "^graph symmetric: yes$"
says "^epochs: 3"
says "^test_mean: 0\.[0-9]+"
python3 - <<'CHECK' || fail "run.json and summary.json"
import json, subprocess, sys
run, summary = json.load(open("run/run.json")), json.load(open("run/summary.json"))
told = dict(line.split(": ", 1) for line in open("version").read().splitlines()[1:])
assert run["versions"] == {k: v for k, v in told.items() if k not in ("instruction sets", "NCCL", "LAPACK")}, run["versions"]
assert {"MPI", "oneDNN", "METIS", "hwloc", "zlib", "xxhash"} <= set(run["versions"])
assert summary["advice"] == []  # a job of a second
CHECK
grep -q "^advice:" closing && fail "advice about a job of a second: $(cat closing)"

# A run that was killed, a damaged one, and one whose texts would steer a terminal.
cp -r run killed
python3 - <<'CHECK'
import json
run = json.load(open("killed/run.json"))
del run["exit"]
run["host"] = "a\x1b[31mb\nexit: 0"
json.dump(run, open("killed/run.json", "w"))
CHECK
rm killed/summary.json
"$weft" info killed >out 2>err || fail "killed run: $(cat err)"
says "^exit: none: "
says '^host: a\\x1b\[31mb\\nexit: 0$'
# A folder that an earlier version wrote: the data's facts stand in an object of their own.
cp -r run older
python3 - <<'CHECK'
import json
run, summary = json.load(open("older/run.json")), json.load(open("older/summary.json"))
del run["data"], summary["facts"]
run["graph"] = {"name": "old", "hash": "0" * 32, "vertices": 7, "symmetric": True}
json.dump(run, open("older/run.json", "w"))
json.dump(summary, open("older/summary.json", "w"))
CHECK
"$weft" info older >out 2>err || fail "a run of an earlier version: $(cat err)"
says "^format: of an earlier version of Weft$"
says "^graph name: old$"
says "^graph vertices: 7$"
says "^epochs: 3$"
printf '{"versions": [1' >killed/run.json
"$weft" info killed >out 2>err
[ $? -eq 65 ] && grep -q "killed/run.json" err || fail "damaged run.json: $(cat err)"
printf '[]' >killed/run.json
"$weft" info killed >out 2>err
[ $? -eq 65 ] || fail "run.json without an object"

# ---- the others ----
"$weft" info store >out 2>err && says "^vertices: 2000" || fail "store: $(cat err)"
"$weft" info absent >out 2>err
[ $? -eq 66 ] && [ ! -s out ] || fail "absent: $(cat err)"
"$weft" info resnet18 >out 2>err
[ $? -eq 66 ] && grep -q "did you mean resnet-18?" err || fail "a network misspelt: $(cat err)"
"$weft" eval --data store --checkpoint store >out 2>err
[ $? -eq 66 ] && grep -q "store: is no checkpoint (no manifest.xxh3 in it): name a run folder" err || fail "a store as a model: $(cat err)"
mkdir -p empty/ckpt
"$weft" info empty/ckpt >out 2>err
[ $? -eq 66 ] || fail "a folder without checkpoints: $(cat err)"

# ---- a checkpoint, where training writes them ----
if "$weft" train --help | grep -q -- --checkpoint-every; then
    "$weft" train --data store --epochs 4 --hidden 24 --checkpoint-every 2 --run-dir saved --quiet >/dev/null 2>err ||
        fail "train with checkpoints: $(cat err)"
    for folder in saved/ckpt saved; do
        "$weft" info $folder >out 2>err || fail "$folder: $(cat err)"
        says "^epochs trained: 4 \(run 1, epoch 4"
        says "^--hidden: 24"
        says "^checked: every file"
    done
    newest=$(find saved/ckpt -mindepth 1 -maxdepth 1 -name 'epoch-*' | sort | tail -1)
    "$weft" info "$newest" >out 2>err && says "^checkpoint: .*epoch-0*4$" || fail "one checkpoint: $(cat out err)"
    printf x >>"$newest/last.npz"
    "$weft" info "$newest" >out 2>err
    [ $? -eq 65 ] && grep -q last.npz err || fail "a damaged checkpoint: $(cat err)"
fi
exit 0
