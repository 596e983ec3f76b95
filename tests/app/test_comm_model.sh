#!/bin/bash
# What a job of two ranks measures, keeps and traces: the model's file used, refused, replaced or left alone; a trace a
# rank that other programs can read.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CACHE_HOME=$work/cache
"$weft" convert synth:quickstart,scale=0.02 --out store --quiet || fail "convert"

run=0
# train RANKS OPTION...: a short training; its log in ./err.
train() {
    local count=$1
    shift
    run=$((run + 1))
    ranks "$count" "$weft" train --data store --epochs 2 --threads 1 --run-dir "run$run" "$@" >out 2>err ||
        fail "$*: $(cat err)"
}
says() {
    [ "$(grep -cE -- "$1" err)" -eq 1 ] || fail "not once '$1' in: $(cat err)"
}

# ---- measured once, then read ----
number='[0-9.e+-]+'
train 2
says "^weft: node: $number us, $number GB/s \(measured\)$"
files=(cache/weft/comm-*.json)
[ ${#files[@]} -eq 1 ] && [ -f "${files[0]}" ] || fail "kept: $(find cache)"
file=$work/${files[0]}
# Timings are looked at again, and a busy machine may measure them anew: without them a file is as it is.
edit() { # FILE STATEMENT: of Python, about `model`
    python3 - "$1" "$2" <<'PYTHON' || exit 1
import json, sys
with open(sys.argv[1]) as stream:
    model = json.load(stream)
model.pop("others_cpus", None)  # a model of a busy machine is measured again once it is quiet
exec(sys.argv[2])
with open(sys.argv[1], "w") as stream:
    json.dump(model, stream)
PYTHON
}
without='model["timed_ranks"] = 0; model["timed"] = {}'
python3 -c 'import json, sys; model = json.load(open(sys.argv[1])); assert model["timed_ranks"] == 2 and len(model["timed"]["ring"]) == 14 and model["timed"]["shared"][5] > 0' "$file" ||
    fail "nothing was timed: $(cat "$file")"
edit "$file" "$without"
first=$(cat "$file")
train 2
says "^weft: node: .* \(from $file\)$"
[ "$first" = "$(cat "$file")" ] || fail "a model that fits was written again"
train 2 --calibrate always
says "^weft: node: .* \(measured\)$"
train 2 --calibrate never
says "^weft: node: .* \(from $file\)$"
train 2 --ranks-per-node 1
says "^weft: network: 2 nodes, $number us, $number GB/s \(measured\)$"
[ "$(find cache -name 'comm-*.json' | wc -l)" -eq 2 ] || fail "two layouts of nodes share a file: $(find cache)"

# ---- figures of the file are taken as they are ----
edit "$file" 'model["intra"] = {"latency": 12.5e-6, "seconds_per_byte": 1 / 2.5e9}'
edit "$file" "$without"
train 2
says "^weft: node: 12.5 us, 2.5 GB/s \(from $file\)$"

# ---- a choice that loses here is found out before the first epoch, and the file is replaced ----
# Where ranks wait for cores, messages are as slow as whatever else needs both of them: nothing can be told.
planted='model["timed_ranks"] = 2; model["timed"] = {name: [1e-3] * 14 for name in ("shared", "two-level")}
model["timed"]["ring"] = [1e-9] * 14'
quiet() { awk -v cpus="$(nproc)" '{exit !($1 < 2 * cpus)}' /proc/loadavg; }
if quiet; then
    for attempt in 1 2 3 4; do
        edit "$file" "$planted"
        train 2
        grep -q "another all-reduce is faster" err && break
    done
fi
if quiet && [ -n "${attempt-}" ]; then # it still is
    says "communication model not used: another all-reduce is faster here than the one that $file says is fastest; measuring again"
    says "^weft: node: .* \(measured\)$"
    grep -q '1e-09' "$file" && fail "the planted timings stay"
fi
edit "$file" "$planted"
train 2 --calibrate never
says "\(from $file\)$"
train 2 --calibrate always

# ---- damaged: the default file is replaced, a named one is not, unless asked ----
echo '{"format": "weft-comm-model 4"' >"$file"
train 2
says "communication model not used: $file: line 2"
says "^weft: node: .* \(measured\)$"
edit "$file" "$without"
train 2
says "\(from $file\)$"
sed 's/vm:2\|"nodes": "[^"]*"/"nodes": "elsewhere:2"/' "$file" >mine.json
before=$(cat mine.json)
train 2 --comm-model mine.json
says "communication model not used: mine.json: \"nodes\" is \"elsewhere:2\", here it is"
says "--calibrate always replaces the file"
[ "$before" = "$(cat mine.json)" ] || fail "a named file of other nodes was replaced"
train 2 --comm-model mine.json --calibrate never
says "fixed constants instead"
says "\(fixed constants\)$"
train 2 --comm-model mine.json --calibrate always
[ "$before" != "$(cat mine.json)" ] || fail "--calibrate always leaves the file"
edit mine.json "$without"
train 2 --comm-model mine.json
says "\(from mine.json\)$"

# ---- the right nodes on a network that is not what it was ----
python3 - cache/weft/*.json <<'PYTHON' || exit 1
import json, sys
for path in sys.argv[1:]:
    with open(path) as stream:
        model = json.load(stream)
    model["inter"] = {"latency": 10.0, "seconds_per_byte": 0.01}
    with open(path, "w") as stream:
        json.dump(model, stream)
PYTHON
train 2 --ranks-per-node 1
says "communication model not used: messages take .* times what .* says; measuring again"
says "^weft: network: 2 nodes, .* \(measured\)$"
[ "$(grep -l '"latency": 10[,.]' cache/weft/*.json | wc -l)" -eq 1 ] || fail "the model of another network stays"

# ---- nowhere to keep it: said, and gone on ----
: >no-folder
XDG_CACHE_HOME=$work/no-folder train 2
says "communication model not kept: "
says "\(measured\)$"

# ---- one rank measures nothing ----
run=$((run + 1))
XDG_CACHE_HOME=$work/unused "$weft" train --data store --epochs 1 --threads 1 --run-dir "run$run" >out 2>err || fail "$(cat err)"
grep -qE "GB/s" err && fail "one rank measures: $(cat err)"
[ ! -e unused ] || fail "one rank keeps a model"

# ---- the choice is explained, and lossy modes need leave ----
train 2 --sync auto
says "^weft: sync: a step's communication by the measured model: allreduce $number [mu]?s, topk .*; allreduce runs: "

# ---- the trace ----
train 2 --trace
folder=run$run
[ "$(ls "$folder" | grep -c '^trace-[01].json$')" -eq 2 ] || fail "no two traces: $(ls "$folder")"
python3 - "$folder" <<'PYTHON' || fail "the trace"
import json, os, sys

for rank in 0, 1:
    with open(os.path.join(sys.argv[1], f"trace-{rank}.json")) as stream:
        trace = json.load(stream)
    assert trace["otherData"]["rank"] == rank and trace["otherData"]["forgotten"] == 0, trace["otherData"]
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert all(span["pid"] == rank and span["dur"] >= 0 and span["ts"] > 0 for span in spans)
    names, categories = {span["name"] for span in spans}, {span["cat"] for span in spans}
    wanted = {"epoch", "submit", "wait", "pack", "unpack", "halo forward", "halo reverse", "linear", "aggregate", "optimizer"}
    assert wanted <= names, wanted - names
    assert "intra" in categories and "inter" not in categories, categories
    threads = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert "main" in threads, threads
    # On a row, spans are nested or apart.
    rows = {}
    for span in sorted(spans, key=lambda span: (span["ts"], -span["dur"])):
        open_spans = rows.setdefault(span["tid"], [])
        while open_spans and open_spans[-1] <= span["ts"] + 1e-3:
            open_spans.pop()
        end = span["ts"] + span["dur"]
        assert not open_spans or end <= open_spans[-1] + 2e-3, (span, open_spans)
        open_spans.append(end)
PYTHON
train 2 --trace --ranks-per-node 1
grep -q '"cat": "inter"' "run$run/trace-1.json" || fail "no span between nodes"
ranks 2 "$weft" train --data store --epochs 1 --threads 1 --run-dir "$folder" --force --quiet >out 2>err || fail "$(cat err)"
ls "$folder" | grep -q trace && fail "the trace of a replaced run stays: $(ls "$folder")"
exit 0
