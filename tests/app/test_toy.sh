#!/bin/bash
# A third kind of workload (tests/toy), which src/app does not know: it trains on 1 and 3 ranks as NumPy does, resumes to the bit,
# is scored, predicted with, reported, described and dry-run, alone and beside weft's own kinds.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need_numpy
toy=$(dirname "$weft")/tests/weft_toy           # the kind alone
beside=$(dirname "$weft")/tests/weft_toy_beside # with graphs and images
[ -x "$toy" ] && [ -x "$beside" ] || skip "no $toy"
work_folder

python3 - <<'PY'
import numpy as np
rng = np.random.default_rng(5)
x = (rng.normal(size=(211, 3)) * [1, 2, 1]).round(4)
y = (1.5 * x[:, 0] - 0.1 * x[:, 1] + 0.1 * x[:, 2] + 0.7 + rng.normal(size=211)).round(4)
with open("t.csv", "w") as f:
    split = ["train"] * 8 + ["valid", "test"]
    f.write("a,b,c,target,split\n" + "".join(f"{a},{b},{c},{t},{split[i % 10]}\n" for i, ((a, b, c), t) in enumerate(zip(x, y))))
with open("asked.csv", "w") as f:  # no target
    f.write("a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in x[:50]))
PY
how=(--threads 1 --pin off --quiet --reproducible --lr 0.05)
options=(--data t.csv "${how[@]}")
refused() { # CODE TEXT COMMAND...
    "${@:3}" >out 2>err
    [ $? -eq "$1" ] || fail "${*:3}: not refused with $1: $(cat err)"
    grep -qF -- "$2" err || fail "${*:3}: $(cat err)"
}

# ---- 1 and 3 ranks compute what NumPy computes in float64: every loss, the scores, the weights of the best epoch; and those of
#      many epochs are the closed form of least squares ----
ok "$toy" train "${options[@]}" --run-dir one
ok ranks 3 "$toy" train "${options[@]}" --run-dir three
ok "$toy" train "${options[@]}" --intercept off --run-dir origin
ok "$toy" train --data t.csv --threads 1 --pin off --quiet --lr 0.2 --epochs 400 --eval-every 0 --run-dir least
python3 - <<'PY' || fail "other than NumPy"
import json
import numpy as np
table = np.loadtxt("t.csv", delimiter=",", skiprows=1, usecols=range(4)).astype(np.float32).astype(float)
x, y = table[:, :3], table[:, 3]
turn = np.arange(len(x)) % 10
part = [turn < 8, turn == 8, turn == 9]
def weights_of(run):
    file = np.load(f"{run}/weights.npz")
    names = ["line.weight"] + ["line.bias"] * (run != "origin")
    assert set(file.files) == set(names), file.files
    return np.vstack([file[name] for name in names])[:, 0]
for run in ("one", "three", "origin"):
    inputs = x if run == "origin" else np.hstack([x, np.ones((len(x), 1))])
    w = np.zeros(inputs.shape[1])
    told = [json.loads(line) for line in open(f"{run}/metrics.jsonl")]
    told = [line for line in told if "loss" in line]
    summary = json.load(open(f"{run}/summary.json"))
    best = summary["run_results"][0]["best_epoch"]
    assert best > 1, best
    assert len(told) == 30, len(told)  # the recipe's
    for epoch, line in enumerate(told, 1):
        error = (inputs @ w - y) * part[0]
        loss = 0.5 * (error ** 2).sum() / part[0].sum()
        assert abs(line["loss"] - loss) < 1e-5 * loss, (run, epoch, line["loss"], loss)
        w = w - 0.05 * inputs.T @ error / part[0].sum()
        rmse = [np.sqrt(((inputs @ w - y)[m] ** 2).mean()) for m in part]
        assert all(abs(line[s] - r) < 1e-5 * r for s, r in zip(("train", "valid", "test"), rmse)), (line, rmse)
        if epoch == best:
            assert np.abs(weights_of(run) - w).max() < 1e-5, (run, weights_of(run), w)
            np.save(f"{run}.npy", inputs @ w)
inputs = np.hstack([x, np.ones((len(x), 1))])[part[0]]
least = np.linalg.lstsq(inputs, y[part[0]], rcond=None)[0]
assert np.abs(weights_of("least") - least).max() < 1e-4, (weights_of("least"), least)
ranks = json.load(open("three/summary.json"))["per_rank"]
assert ranks["table_rows"] == [70, 70, 71], ranks["table_rows"]
PY

# ---- stopped, and on to the bit; the data must be the same ----
ok "$toy" train "${options[@]}" --epochs 12 --run-dir part
ok "$toy" train "${options[@]}" --epochs 30 --run-dir part --resume
cmp -s one/weights.npz part/weights.npz || fail "a resumed run has other weights"
long=(--epochs 12000 --eval-every 0)
ok "$toy" train "${options[@]}" "${long[@]}" --run-dir long
"$toy" train "${options[@]}" "${long[@]}" --max-hours 0.00005 --run-dir late >out 2>err # 0.18 s; 0: it was done by then
code=$?
[ $code -eq 75 ] || [ $code -eq 0 ] || fail "--max-hours: $code: $(cat err)"
ok "$toy" train "${options[@]}" "${long[@]}" --resume --run-dir late
cmp -s long/weights.npz late/weights.npz || fail "a run that its time limit stopped has other weights"
sed 's/^\([^,]*\),/1\1,/; 1s/^1//' t.csv >other.csv
refused 65 "" "$toy" train --data other.csv "${how[@]}" --run-dir part --resume --epochs 40
refused 2 intercept "$toy" train "${options[@]}" --intercept off --run-dir part --resume --epochs 40

# ---- eval, predict, info, report, dry run ----
ok "$toy" eval --data t.csv --checkpoint one --threads 1 --format json
cp out scores.json
ok ranks 3 "$toy" predict --data t.csv --checkpoint one --out answers --threads 1
ok "$toy" predict --data asked.csv --checkpoint one --out more --threads 1
python3 - <<'PY' || fail "eval or predict"
import json
import numpy as np
answers = np.load("one.npy")
assert np.abs(np.load("answers/predictions.npy")[:, 0] - answers).max() < 1e-4
assert np.abs(np.load("more/predictions.npy")[:, 0] - answers[:50]).max() < 1e-4
json.load(open("scores.json")), json.load(open("answers/scores.json"))
PY
refused 2 intercept "$toy" eval --data t.csv --checkpoint one --intercept off
refused 2 "--smooth is not for models on tables" "$beside" predict --data t.csv --checkpoint one --smooth
refused 69 "safetensors files hold no models on tables" "$toy" export one --out one.safetensors
ok "$toy" info one
grep -q "t.csv" out && grep -q "columns of inputs: 3" out || fail "info: $(cat out)"
ok "$toy" report one
grep -q "columns of inputs" one/report.html && grep -q "slopes" one/report.html || fail "the report has no facts of the kind"
sed 's/<style>.*<\/style>//; s/<script>.*<\/script>//' one/report.html | sed 's/<[^>]*>/ /g' >text
! grep -niwE 'graphs?|images?|vertex|vertices|edges' text || fail "the report speaks of another kind"
ok "$toy" train --data t.csv --dry-run
grep -q "Line: slopes 3, intercept on" out && grep -q "rows on the backend" out || fail "dry run: $(cat out)"

# ---- options: the kind's own alone, or beside others ----
ok "$toy" train --help
grep -q -- "--intercept on|off" out || fail "no --intercept in help"
! grep -qE -- '^ +--(hidden|augment|partition)' out || fail "help has options of other kinds"
refused 2 "unknown option --hidden" "$toy" train --data t.csv --hidden 16
ok "$beside" train "${options[@]}" --hidden 16 --run-dir warned
grep -q -- "--hidden 16 (command line) has no effect on tables: it is for graphs" err || fail "no warning: $(cat err)"
cmp -s one/weights.npz warned/weights.npz || fail "beside other kinds: other weights"
refused 2 "is for networks on tables, and --model sage is one on graphs" "$beside" train --data t.csv --model sage
refused 2 "and --model line is one on tables" "$beside" train --data synth:images,n=20 --model line
ok "$beside" train --data synth:images,n=60,size=8,channels=1,classes=2,test=10 --model mlp --intercept off --dry-run
grep -q -- "--intercept off (command line) has no effect on images: it is for tables" err || fail "no warning: $(cat err)"
refused 66 "is not a table (.csv" "$toy" train --data "$work" --dry-run
exit 0
