#!/bin/bash
# Halos by bins, in fewer bits and none at all, through the command: what is exact by definition has the same bits, what
# is not sends as many bytes as it says, evaluates exactly, and converges; a resumed run goes on to the bit.
# needs: mpirun
set -u
weft=$(realpath "$1")
source_dir=$(realpath "$2")
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work_folder
"$weft" convert synth:quickstart,scale=0.02 --out store --quiet || fail "convert"

# trained FOLDER RANKS OPTION...
trained() {
    ranks "$2" "$weft" train --quiet --data store --threads 1 --calibrate never --hidden 16 --eval-every 0 --lr 0.02 \
        --partition libra --last-layer "${last:-whole}" --epochs "${epochs:-24}" --run-dir "$1" "${@:3}" >"$1.out" 2>"$1.err" || fail "$*: $(cat "$1.err")"
}

trained exact 3
trained one 3 --delay 1
trained delayed 3 --delay 4
trained fresh 3 --delay 4 --halo-overlap epoch --fresh-gradients
trained none 3 --no-halo
for codec in bf16 int8 int4 int2; do
    trained "$codec" 3 --halo-codec "$codec"
done
trained adaptive 3 --halo-codec adaptive --halo-bits 3
trained eight 3 --halo-codec adaptive --halo-bits 8
trained adaptive-delayed 3 --halo-codec adaptive --halo-bits 3 --delay 4
epochs=12 trained adaptive-resumed 3 --halo-codec adaptive --halo-bits 3 --delay 4
trained adaptive-resumed 3 --halo-codec adaptive --halo-bits 3 --delay 4 --resume
trained sampled 3 --boundary-sample 0.5
trained both 3 --halo-codec int8 --delay 4
trained alone 1
trained alone-delayed 1 --delay 4
epochs=12 trained resumed 3 --delay 4
cp -r resumed other
trained resumed 3 --delay 4 --resume
trained other 3 --delay 3 --resume
epochs=12 trained resumed-fresh 3 --delay 4 --halo-overlap epoch --fresh-gradients
trained resumed-fresh 3 --delay 4 --halo-overlap epoch --fresh-gradients --resume
last=read trained read 3
last=read trained read-delayed 3 --delay 4
last=read epochs=12 trained read-resumed 3 --delay 4
last=read trained read-resumed 3 --delay 4 --resume
last=read trained read-bits 3 --halo-codec int8 --delay 4
grep -q "up to 3 epochs old" delayed.out || fail "closing lines: $(cat delayed.out)"

python3 - <<'EOF' || fail "delayed halos"
import json
def read(folder):
    lines = [json.loads(line) for line in open(folder + "/metrics.jsonl")]
    return lines, json.load(open(folder + "/summary.json"))
runs = {f: read(f) for f in ("exact", "one", "delayed", "none", "alone", "alone-delayed", "resumed", "bf16", "int8",
                             "int4", "int2", "both", "resumed-fresh",
                             "read", "read-delayed", "read-resumed", "read-bits", "other", "fresh", "sampled", "adaptive", "eight", "adaptive-delayed", "adaptive-resumed")}
def evaluation(f):  # after the last epoch
    last = runs[f][0][-1]
    return last["lanes"]["halo"]["bytes"] - last["halo_bytes"]

losses = {f: [line["loss"] for line in lines] for f, (lines, _) in runs.items()}
assert losses["one"] == losses["exact"]
assert losses["alone-delayed"] == losses["alone"]

whole = runs["exact"][0][0]["halo_bytes"]
assert whole > 0 and all(line["halo_bytes"] == whole for line in runs["exact"][0])
lines, summary = runs["delayed"]
sent = [line["halo_bytes"] for line in lines]
assert sent[0] == whole, (sent[0], whole)
for first in range(1, 21):  # each row goes once in any four epochs
    assert sum(sent[first:first + 4]) == whole, (first, sent)
assert all(0.2 * whole < s < 0.3 * whole for s in sent[1:]), (sent, whole)
assert [line["staleness"] for line in lines] == [0, 1, 2] + [3] * 21
assert summary["halo_staleness"] == 3
assert summary["allocations_after_first_epoch"] == 0
# Two layers, linear first: half of the rows are gradients'.
fresh, summary = runs["fresh"]
assert all(2 * line["halo_bytes"] == s + whole for line, s in zip(fresh, sent))
assert [line["staleness"] for line in fresh] == [0, 1, 2, 3] + [4] * 20
assert losses["fresh"][0] == losses["delayed"][0] and losses["fresh"] != losses["delayed"]
assert summary["allocations_after_first_epoch"] == 0
assert abs(losses["fresh"][-1] - losses["exact"][-1]) < 0.1 * losses["exact"][0]
assert evaluation("fresh") == evaluation("exact")
gap = losses["delayed"][-1] - losses["exact"][-1]
assert losses["delayed"] != losses["exact"] and abs(gap) < 0.05 * losses["exact"][0], gap
assert all(line["halo_bytes"] == 0 for line in runs["none"][0])
assert losses["none"] != losses["exact"]

part = [line["halo_bytes"] / whole for line in runs["sampled"][0]]
assert all(0.4 < p < 0.6 for p in part) and abs(sum(part) / 24 - 0.5) < 0.02 and len(set(part)) > 20, part
assert evaluation("sampled") == evaluation("exact")
assert abs(losses["sampled"][-1] - losses["exact"][-1]) < 0.1 * losses["exact"][0]
assert runs["sampled"][1]["allocations_after_first_epoch"] == 0

# Rows of 16 columns, in hidden layers and of 16 classes: 16, 8, 4 or 2 bits each, and a scale.
for codec, row in (("bf16", 32), ("int8", 20), ("int4", 12), ("int2", 8)):
    lines, summary = runs[codec]
    assert all(line["halo_bytes"] * 64 == whole * row for line in lines), (codec, lines[0], whole)
    gap = losses[codec][-1] - losses["exact"][-1]
    assert losses[codec] != losses["exact"] and abs(gap) < 0.05 * losses["exact"][0], (codec, gap)
    assert summary["allocations_after_first_epoch"] == 0, codec
    assert evaluation(codec) == evaluation("exact"), codec
assert sum(line["halo_bytes"] for line in runs["both"][0][4:8]) * 64 == whole * 20

# Rows that choose their bits: 3 on average, with a scale and two bits to say which; eight leave no choice.
lines, summary = runs["adaptive"]
part = [line["halo_bytes"] / whole * 64 for line in lines]
assert all(10.2 < p < 10.35 and p == part[0] for p in part), part
gap = losses["adaptive"][-1] - losses["exact"][-1]
assert losses["adaptive"] != losses["exact"] and abs(gap) < 0.05 * losses["exact"][0], gap
assert summary["allocations_after_first_epoch"] == 0 and evaluation("adaptive") == evaluation("exact")
assert losses["eight"] == losses["int8"]
assert sum(line["halo_bytes"] for line in runs["adaptive-delayed"][0][4:8]) < 1.05 * lines[0]["halo_bytes"]
assert losses["adaptive-resumed"] == losses["adaptive-delayed"]

# Rows that the loss does not read: the same losses of fewer bytes, and each bin of them in its turn.
assert all(abs(a - b) < 2e-6 * a for a, b in zip(losses["read"], losses["exact"]))
read = runs["read"][0][0]["halo_bytes"]
assert 0.7 * whole < read < 0.9 * whole and all(line["halo_bytes"] == read for line in runs["read"][0]), (read, whole)
lines, summary = runs["read-delayed"]
sent = [line["halo_bytes"] for line in lines]
assert sent[0] == read and all(sum(sent[first:first + 4]) == read for first in range(1, 21)), (sent, read)
assert [line["staleness"] for line in lines] == [0, 1, 2] + [3] * 21
gap = losses["read-delayed"][-1] - losses["read"][-1]
assert losses["read-delayed"] != losses["read"] and abs(gap) < 0.05 * losses["read"][0], gap
assert sum(line["halo_bytes"] for line in runs["read-bits"][0][4:8]) * 64 == read * 20
for f in ("read", "read-delayed", "read-bits"):
    assert runs[f][1]["allocations_after_first_epoch"] == 0 and evaluation(f) == evaluation("exact"), f

# An evaluation moves what an exact one does.
assert evaluation("delayed") == evaluation("none") == evaluation("exact") > 0

# Resumed to the bit; with other bins from new rows.
for resumed, straight in (("resumed", "delayed"), ("resumed-fresh", "fresh"), ("read-resumed", "read-delayed")):
    assert len(losses[resumed]) == 24 and losses[resumed] == losses[straight], resumed
    for key in ("halo_bytes", "staleness"):
        assert [line[key] for line in runs[resumed][0]] == [line[key] for line in runs[straight][0]], (resumed, key)
lines = runs["other"][0]
assert losses["other"][:12] == losses["delayed"][:12]
assert lines[12]["halo_bytes"] == whole and lines[12]["staleness"] == 0 and lines[13]["halo_bytes"] < whole
EOF
"$weft" train --data store --model mlp --delay 4 --epochs 1 --threads 1 --run-dir mlp 2>&1 | grep -q "delay 4.*has no effect" ||
    fail "--delay with --model mlp is not warned about"
ranks 2 "$weft" train --data store --delay 4 --fresh-gradients --dry-run 2>/dev/null |
    grep -q "MB with --delay 4 --fresh-gradients" ||
    fail "a dry run does not tell what a delay saves"
"$weft" train --data store --delay 4 --boundary-sample 0.5 --dry-run 2>&1 | grep -q "boundary-sample leaves out rows" ||
    fail "samples of delayed rows are not refused"
echo "delayed halos: ok"
