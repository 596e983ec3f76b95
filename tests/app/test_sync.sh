#!/bin/bash
# weft train with every way of synchronising on three ranks: what metrics.jsonl, summary.json, the table and a dry run tell.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work_folder
"$weft" convert synth:quickstart,scale=0.02 --out store --quiet || fail "convert"
# Every rank its own node, so that no mode finds everything in shared memory.
common=(--data store --threads 1 --epochs 8 --eval-every 4 --ranks-per-node 1 --calibrate never)

# trained FOLDER OPTION...
trained() {
    local folder=$1
    shift
    ranks 3 "$weft" train "${common[@]}" --run-dir "$folder" "$@" >"$folder.out" 2>"$folder.err" ||
        fail "$*: $(cat "$folder.err")"
}

trained exact
trained whole --reproducible --overlap off
trained split --reproducible --overlap split --bucket 4KiB
trained topk --sync topk --topk-density 0.05 --topk-exchange all-gather
trained divide-shuffle --sync divide-shuffle
trained shadow --sync shadow
trained asp --sync asp
trained moments --sync divide-shuffle --gradient-tracking moments
trained tracking --sync divide-shuffle --gradient-tracking
trained untracked --sync divide-shuffle --no-gradient-tracking
trained auto --sync auto
ranks 2 "$weft" train --data store --threads 1 --epochs 1 --calibrate never --sync divide-shuffle --group-size 8 --wire bf16 \
    --run-dir near >near.out 2>near.err || fail "one node: $(cat near.err)"
grep -q "changing groups of 2 ranks" near.err || fail "groups larger than the job: $(cat near.err)"
grep -q "wire bf16 has no effect: all ranks are on one node" near.err || fail "--wire on one node: $(cat near.err)"
grep -q "no effect" exact.err && fail "a warning from nowhere: $(cat exact.err)"
cmp whole/weights.npz split/weights.npz || fail "--overlap split and smaller buckets change bits with --reproducible"

python3 - <<'EOF' || fail "results of the modes"
import json
losses, sent = {}, {}
for folder, mode in (("exact", "allreduce"), ("whole", "allreduce"), ("split", "allreduce"), ("topk", "topk"),
                     ("divide-shuffle", "divide-shuffle"), ("shadow", "shadow"), ("asp", "asp"), ("tracking", "divide-shuffle"),
                     ("moments", "divide-shuffle"), ("untracked", "divide-shuffle"),
                     ("auto", "allreduce")):
    lines = [json.loads(line) for line in open(f"{folder}/metrics.jsonl")]
    summary = json.load(open(f"{folder}/summary.json"))
    assert len(lines) == 8, folder
    for line in lines:
        assert line["sync"] == mode, (folder, line)
        assert line["comm_bytes"] == sum(lane["bytes"] for lane in line["lanes"].values()), (folder, line)
        assert line["comm_bytes"] > 0 and 0 <= line["comm_exposed_s"] < 60, (folder, line)
        assert ("density" in line) == (mode != "allreduce"), (folder, line)
    assert summary["sync"] == mode and summary["comm_exposed_s_avg"] >= 0, (folder, summary)
    assert summary["lanes"]["halo"]["sent_bytes_avg"] > 0, (folder, summary)
    # Ranks hold parts of a graph: something travels where a mode has local updates, unless it is told otherwise. With
    # divide-shuffle and Adam it is the second moments.
    assert summary["gradient_tracking"] is (folder in ("shadow", "asp", "tracking")), (folder, summary)
    assert summary["second_moments_averaged"] is (folder in ("divide-shuffle", "moments")), (folder, summary)
    losses[folder] = [line["loss"] for line in lines]
    sent[folder] = sum(line["comm_bytes"] for line in lines)
    if mode == "topk":
        assert 0.01 < lines[-1]["density"] < 0.3, lines[-1]
    if mode in ("shadow", "asp"):
        assert lines[-1]["gap"] >= 0, lines[-1]
assert losses["whole"] == losses["split"]
assert losses["divide-shuffle"] == losses["moments"]
assert len({tuple(losses[folder]) for folder in ("moments", "tracking", "untracked")}) == 3
assert sent["untracked"] < sent["tracking"] == sent["moments"] < 2.1 * sent["untracked"], sent
# The first loss is that of the same weights in every mode.
for folder, loss in losses.items():
    assert abs(loss[0] - losses["exact"][0]) < 1e-4 * losses["exact"][0], (folder, loss[0])
EOF
grep -qF "sync topk: sends 5 % of the gradient as float32, keeps the rest for later steps; not exact" topk.err ||
    fail "the log does not tell what topk trades: $(cat topk.err)"
grep -qF "sync topk: communication exposed for" topk.out || fail "the table has no exposed time: $(cat topk.out)"
grep -qF "changing groups of 2 ranks, tracks the global gradient; not exact" tracking.err ||
    fail "the log does not tell of tracking: $(cat tracking.err)"
grep -qF "changing groups of 2 ranks, and Adam's second moments; not exact" moments.err ||
    fail "the log does not tell of second moments: $(cat moments.err)"
grep -qF "gradient tracking by second moments: shares of the ranks differ in their labels; twice the bytes," divide-shuffle.err ||
    fail "the log does not tell that second moments travel: $(cat divide-shuffle.err)"
for mode in shadow asp; do
    grep -qF "gradient tracking on: shares of the ranks differ in their labels; twice the bytes, --gradient-tracking off goes" \
        "$mode.err" || fail "the log does not tell that tracking is on: $(cat "$mode.err")"
done
grep -qF "gradient tracking off: where shares of the ranks differ in their labels" untracked.err ||
    fail "the log does not tell that tracking is off: $(cat untracked.err)"
grep -qF "gradient tracking" exact.err topk.err && fail "the log tells of tracking where there is none"
grep -qE "allow-lossy|slower" auto.err || fail "auto does not tell why: $(cat auto.err)"

ranks 3 "$weft" train "${common[@]}" --dry-run --sync shadow >out 2>err || fail "dry run: $(cat err)"
grep -qF "sync shadow: averages parameters in the background" out && grep -qF "gradient tracking on" out || fail "the dry run does not tell the mode: $(cat out)"

got=0
ranks 3 "$weft" train "${common[@]}" --run-dir none --sync topk --nesterov >out 2>err || got=$?
[ "$got" -eq 2 ] && grep -qF -- "--nesterov" err || fail "topk with --nesterov: exit $got: $(cat err)"

for mode in allreduce topk auto; do
    got=0
    ranks 3 "$weft" train "${common[@]}" --run-dir none --sync "$mode" --gradient-tracking >out 2>err || got=$?
    [ "$got" -eq 2 ] && grep -qF "take --sync divide-shuffle, shadow or asp" err ||
        fail "--sync $mode --gradient-tracking: exit $got: $(cat err)"
done

got=0
ranks 3 "$weft" train "${common[@]}" --run-dir none --sync divide-shuffle --optimizer sgd --gradient-tracking moments \
    >out 2>err || got=$?
[ "$got" -eq 2 ] && grep -qF "take adam" err || fail "second moments of sgd: exit $got: $(cat err)"

# A checkpoint says itself whether it tracked: one of the same kind goes on to the bit, another from the mean.
for kind in moments tracking; do
    how=()
    [ "$kind" = moments ] || how=(--gradient-tracking)
    ranks 3 "$weft" train "${common[@]}" --sync divide-shuffle "${how[@]}" --run-dir half --max-hours 1e-9 >out 2>err
    [ "$?" -eq 75 ] || fail "stop after an epoch: $(cat err)"
    rm -rf other
    cp -r half other
    ranks 3 "$weft" train "${common[@]}" --sync divide-shuffle --run-dir half --resume "${how[@]}" >out 2>err ||
        fail "resume: $(cat err)"
    cmp half/weights.npz "$kind/weights.npz" || fail "a resumed run ($kind) has other bits"
    rm -rf half
done
ranks 3 "$weft" train "${common[@]}" --sync divide-shuffle --run-dir other --resume --no-gradient-tracking >out 2>err ||
    fail "resume without tracking: $(cat err)"
grep -qF "divide-shuffle and gradient tracking: going on from the mean of its replicas on 3 with divide-shuffle;" err ||
    fail "the resumed run does not tell that the tracker is dropped: $(cat err)"

# One rank has nobody to keep up with.
"$weft" train "${common[@]}" --run-dir one --sync topk --quiet >out 2>err || fail "one rank: $(cat err)"
grep -q '"sync": "allreduce"' one/metrics.jsonl || fail "one rank synchronises: $(head -1 one/metrics.jsonl)"
exit 0
