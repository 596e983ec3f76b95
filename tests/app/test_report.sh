#!/bin/bash
# weft report: every figure, curve and setting of a report against the files of real runs, and comparisons.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
work_folder
export PYTHONPATH="$source_dir/tests/support" PYTHONDONTWRITEBYTECODE=1
data=synth:quickstart,scale=0.01

python() { python3 - "$@" || fail "line ${BASH_LINENO[0]}: the check above"; }

report() {
    "$weft" report "$@" >out 2>err || fail "weft report $*: exit $?: $(cat err)"
}

# refused CODE TEXT ARGUMENT...
refused() {
    local code=$1 text=$2 got=0
    shift 2
    "$weft" report "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "exit $got instead of $code: weft report $*: $(cat err)"
    grep -qF -- "$text" err || fail "weft report $*: no '$text' in: $(cat err)"
}

# ---- real runs ----
"$weft" train --data $data --epochs 9 --eval-every 4 --run-dir alone --quiet >/dev/null || fail "training alone"
ranks 2 "$weft" train --data $data --runs 3 --epochs 25 --hidden 24 --patience 9 --run-dir 'three runs' --quiet \
    >/dev/null 2>err || fail "training on 2 ranks: $(cat err)"
for folder in alone 'three runs'; do
    report "$folder"
    [ "$(cat out)" = "report: $folder/report.html" ] || fail "stdout: $(cat out)"
    report "$folder" --format md
    python3 "$source_dir/tests/support/check_report.py" "$folder" "$folder/report.html" "$folder/report.md" ||
        fail "report of $folder"
    report "$folder" --out -
    cmp -s out "$folder/report.html" || fail "stdout and file differ"
done

# ---- a job that stopped and was resumed ----
got=0
"$weft" train --data $data --epochs 8 --max-hours 0.000001 --run-dir resumed --quiet >/dev/null 2>&1 || got=$?
[ "$got" -eq 75 ] || fail "--max-hours: exit $got"
"$weft" train --data $data --epochs 8 --resume --run-dir resumed --quiet >/dev/null 2>err || fail "--resume: $(cat err)"
report resumed
python <<'PY'
import json
import report_page as rp
page = rp.Page(open("resumed/report.html", encoding="utf-8").read())
summary, run = (json.load(open(f"resumed/{n}.json")) for n in ("summary", "run"))
own = summary["per_rank"]["epochs"]
assert 0 < own < summary["epochs"] == 8, summary
assert f"which trained {own} of 8 epochs" in page.text
for row in page.table("activity, per epoch"):
    assert rp.near(row[2], summary["per_rank"]["activity_s"][row[0]][0] / own), row
starts = page.table("started")
assert len(starts) == len(run["starts"]) == 2, starts
for row, start in zip(starts, run["starts"]):
    assert row[:4] == [start["started"], start["ended"], start["host"], str(start["ranks"])], row
    assert row[5] == str(start["exit"]), row
assert starts[1][4] == f"run 1, epoch {8 - own}", starts
lines = [json.loads(l) for l in open("resumed/metrics.jsonl")]
page.charts()[0].check("loss", [(l["epoch"], l["loss"]) for l in lines])
PY

# ---- where it goes ----
report alone --out page.html
refused 2 "page.html exists" alone --out page.html
report alone --out page.html --force
report alone # the folder's own report is made anew
refused 74 "missing/page.html" alone --out missing/page.html
refused 66 "no run there" "$work/nothing"
refused 2 "DIR" # no folder
refused 2 "html, md" alone --format pdf
"$weft" train --data $data --epochs 2 --run-dir alone2 --quiet >/dev/null && report alone2 &&
    "$weft" train --data $data --epochs 2 --run-dir alone2 --force --quiet >/dev/null || fail "training again"
[ ! -e alone2/report.html ] || fail "the report of a replaced run stays"

# ---- comparison ----
report alone 'three runs' alone2
[ "$(cat out)" = "report: report.html" ] || fail "stdout: $(cat out)"
report alone 'three runs' alone2 --format md
python <<'PY'
import json
import report_page as rp
names = ["alone", "three runs", "alone2"]
page = rp.Page(open("report.html", encoding="utf-8").read())
assert page.problems() == []
summaries = [json.load(open(n + "/summary.json")) for n in names]
for row, name, s in zip(page.table("folder"), names, summaries):
    assert row[0] == name and row[1] == "well" and row[2] == str(s["runs"]) and row[3] == str(s["epochs"]), row
    test = row[4].split(" ± ")
    assert rp.near(test[0], s["test_mean"]) and len(test) == (2 if s["runs"] > 1 else 1), row
    assert len(test) == 1 or abs(float(test[1]) - 100 * s["test_std"]) < 0.0051
    assert rp.near(row[6], s["outcome"]["baseline"]["test"]) and rp.near(row[7], s["epoch_s_median"])
    assert rp.near(row[9], s["peak_rss_bytes"]) and row[10] == str(s["ranks"])
    assert rp.near(row[8], sum(s["per_rank"]["epoch_sent_bytes"]) / s["epochs"])
settings = {r[0]: r[1:] for r in page.table("setting")}
assert settings["--epochs"] == ["9", "25", "2"] and settings["--hidden"] == ["64", "24", "64"], settings
assert settings["ranks"] == ["1", "2", "1"] and "--lr" not in settings and "--run-dir" not in settings, settings
runs = [json.load(open(n + "/run.json")) for n in names]
housekeeping = {"run-dir", "choices", "force", "quiet", "verbose", "help", "version", "print-config", "config", "trace", "dry-run",
                "tensorboard"}
differ = {k for k in runs[0]["options"] if len({r["options"][k]["value"] for r in runs}) > 1} - housekeeping
assert {k[2:] for k in settings if k.startswith("--")} == differ, (settings, differ)
strong = [rp.text_of(b) for b in page.root.iter("b") if rp.text_of(b) in ("25", "24", "2")]
assert sorted(strong)[:4] == ["2", "2", "24", "25"], strong  # epochs 25 and 2, hidden 24, ranks 2
loss, valid = page.charts()[:2]
for name in names:
    lines = [json.loads(l) for l in open(name + "/metrics.jsonl")]
    loss.check(name, rp.medians(lines, "loss"))
    valid.check(name, rp.medians(lines, "valid"))
    assert name in loss.labels and name in valid.labels
assert rp.markdown_tables(open("report.md", encoding="utf-8").read())[0] == page.tables()[0]
PY

echo "test_report: passed"
