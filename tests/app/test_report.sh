#!/bin/bash
# weft report: every figure, curve and setting of a report against the files of real runs; comparisons; run folders that
# are hostile, damaged, cut short, or belong to a job that was killed.
# needs: mpirun   timeout: 300
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
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
    assert rp.near(row[6], s["epoch_s_median"]) and rp.near(row[8], s["peak_rss_bytes"]) and row[9] == str(s["ranks"])
    assert rp.near(row[7], sum(s["per_rank"]["epoch_sent_bytes"]) / s["epochs"])
settings = {r[0]: r[1:] for r in page.table("setting")}
assert settings["--epochs"] == ["9", "25", "2"] and settings["--hidden"] == ["16", "24", "16"], settings
assert settings["ranks"] == ["1", "2", "1"] and "--lr" not in settings and "--run-dir" not in settings, settings
runs = [json.load(open(n + "/run.json")) for n in names]
housekeeping = {"run-dir", "force", "quiet", "verbose", "help", "version", "print-config", "config", "trace", "dry-run"}
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

# ---- a killed run: no exit code, no summary, half a line ----
"$weft" train --data $data --epochs 1000000 --run-dir killed --quiet >/dev/null 2>&1 &
job=$!
for _ in $(seq 200); do
    [ -s killed/metrics.jsonl ] && [ "$(wc -l <killed/metrics.jsonl)" -ge 6 ] && break
    sleep 0.05
done
kill -KILL $job
wait $job 2>/dev/null
head -n 6 killed/metrics.jsonl >lines
{ cat lines; head -c 40 lines; } >killed/metrics.jsonl
report killed
report killed --format md
python <<'PY'
import json
import report_page as rp
page = rp.Page(open("killed/report.html", encoding="utf-8").read())
told = " ".join(page.problems())
for words in ("no exit code", "no summary.json", "cut off"):
    assert words in told, (words, told)
assert len(page.problems()) == 3, page.problems()
lines = [json.loads(l) for l in open("lines")]
loss, score, _ = page.charts()
loss.check("loss", [(l["epoch"], l["loss"]) for l in lines])
best = max(lines, key=lambda l: (l["valid"], -l["epoch"]))
assert rp.near(page.tiles()["Test accuracy"][0], best["test"]), page.tiles()
markdown = open("killed/report.md", encoding="utf-8").read()
assert markdown.count("> **Note:** ") == 3, markdown[:800]
PY

# ---- folders made by hand: hostile, damaged, extreme ----
python "$weft" <<'PY'
import json, math, os, random, shutil, subprocess, sys
import report_page as rp
weft = sys.argv[1]

def report(*arguments):
    done = subprocess.run([weft, "report", *arguments, "--out", "-"], capture_output=True, timeout=60)
    assert done.returncode == 0, (arguments, done.returncode, done.stderr.decode("utf-8", "replace"))
    return done.stdout.decode("utf-8")

def page(*arguments):
    return rp.Page(report(*arguments))

def folder(name, run=None, summary=None, metrics=None):
    os.makedirs(name, exist_ok=True)
    for file, content in (("run.json", run), ("summary.json", summary), ("metrics.jsonl", metrics)):
        if content is not None:
            mode = "wb" if isinstance(content, bytes) else "w"
            with open(f"{name}/{file}", mode, **({} if mode == "wb" else {"encoding": "utf-8"})) as f:
                f.write(content if isinstance(content, (str, bytes)) else json.dumps(content))
    return name

run = json.load(open("three runs/run.json"))
summary = json.load(open("three runs/summary.json"))
metrics = open("three runs/metrics.jsonl").read()

# Names that would be markup, steer the terminal or turn the line round.
nasty = "</title><script>alert(1)</script><img src=x onerror=y>&amp;'\"`|*_[l](http://x)\u202eevil\u0007\n# h"
bad = json.loads(json.dumps(run))
bad["graph"]["name"] = bad["host"] = bad["cpu"] = bad["options"]["model"]["value"] = nasty
bad["options"]["lr"] = {"value": nasty, "source": nasty}
bad["options"][nasty] = {"value": nasty, "source": "command line"}
bad["versions"][nasty] = nasty
worse = json.loads(json.dumps(summary))
worse["per_rank"]["host"] = [nasty, nasty]
worse["per_rank"]["sent_bytes"][nasty] = [1, 2]
name = folder("x<b>&'`|*", bad, worse, metrics)
source = report(name)
assert "<script>alert" not in source and "\u202e" not in source and "\u0007" not in source
page_of = rp.Page(source.replace("(http:", "(h:"))
assert "<script>alert(1)</script>" in page_of.text
both = rp.Page(report(name, "alone", "three runs").replace("(http:", "(h:"))
assert both.table("folder")[0][0] == name
markdown = report(name, "--format", "md")
assert "<script>" not in markdown and "\n# h" not in markdown and "\u202e" not in markdown
rp.markdown_tables(markdown)

# Losses that are no numbers: gaps, and said; a diverged job.
lines = [{"run": 1, "epoch": e, "loss": None if e in (4, 5, 9) else 3.0 / e, "epoch_s": 0.01, "comm_bytes": 0} for e in range(1, 10)]
end = dict(run, exit=76)
p = page(folder("gaps", end, None, "".join(json.dumps(l) + "\n" for l in lines)))
assert any("3 epochs, first in epoch 4 of run 1" in t for t in p.problems()), p.problems()
assert any("exit code 76: training diverged" in t for t in p.problems()), p.problems()
chart = p.charts()[0]
chart.check("loss", [(l["epoch"], l["loss"]) for l in lines if l["loss"] is not None])
assert chart.lines["loss"][1] == 2, "a gap splits the curve"
assert "No epoch was evaluated." in p.text

# Lines that are no metrics are counted; the rest is drawn. An epoch that comes again: resumed there.
mixed = ['{"run": 1, "epoch": 1, "loss": 2.0}', "junk", '{"run": 1, "epoch": 2, "loss": NaN}', "[1]", "{}",
         '{"run": 0, "epoch": 2, "loss": 1}', '{"run": 1, "epoch": 2.5, "loss": 1}', '{"run": 1, "epoch": 2, "loss": 1.0}',
         '{"run": 1, "epoch": 3, "loss": 9.0}', '{"run": 1, "epoch": 4, "loss": 9.0}', '{"run": 1, "epoch": 3, "loss": 0.5}',
         '{"run": 1, "epoch": 4, "loss": "text"}', "\0", '{"x": "' + "a" * 100000 + '"}']
p = page(folder("mixed", run, None, "\n".join(mixed) + "\n"))
assert any("8 of 14 lines" in t and "line 2)" in t for t in p.problems()), p.problems()
p.charts()[0].check("loss", [(1, 2.0), (2, 1.0), (3, 0.5)])

# Thousands of epochs: thinned, and no spike is lost. A wide range: logarithmic. One epoch: a dot.
many = [{"run": 1, "epoch": e, "loss": 1.0 + 0.001 * (e % 7) + (5.0 if e == 5003 else -0.5 if e == 2111 else 0), "epoch_s": 0.01} for e in range(1, 10001)]
p = page(folder("many", run, None, "".join(json.dumps(l) + "\n" for l in many)))
points = p.charts()[0].lines["loss"][0]
assert 900 <= len(points) <= 1000, len(points)
assert abs(max(y for _, y in points) - max(l["loss"] for l in many)) < 0.01
assert abs(min(y for _, y in points) - min(l["loss"] for l in many)) < 0.01
wide = [{"run": 1, "epoch": e, "loss": 10.0 ** (4 - e / 5)} for e in range(1, 41)]
chart = page(folder("wide", run, None, "".join(json.dumps(l) + "\n" for l in wide))).charts()[0]
assert chart.log
chart.check("loss", [(l["epoch"], l["loss"]) for l in wide])
chart = page(folder("one", run, None, '{"run": 1, "epoch": 7, "loss": 2.5}\n')).charts()[0]
chart.check("loss", [(7, 2.5)])
huge = ["1e308", "-1e308", "1e30", "-1e30", "1e-320", "0", "5", "1e99", "-1e99"]
p = page(folder("huge", run, None, "".join('{"run": 1, "epoch": %d, "loss": %s, "valid": %s, "test": %s, "epoch_s": %s, "comm_bytes": %s}\n' % (i + 1, v, v, v, v, v) for i, v in enumerate(huge))))
assert len(p.charts()) == 3

# Nothing, or nothing usable.
for content, words in (("", "no epoch"), (None, "metrics.jsonl is missing")):
    assert any(words in t for t in page(folder("empty" + words, run, None, content)).problems())
p = page(folder("no run.json", None, summary, metrics))
assert any("run.json cannot be used" in t for t in p.problems()) and len(p.charts()) == 3
p = page(folder("damaged", "{\"schema\": 1,", "[]", metrics))
assert sum("cannot be used" in t for t in p.problems()) == 2, p.problems()
os.makedirs("odd/metrics.jsonl", exist_ok=True)
assert page(folder("odd", run, summary)).problems()

# Many ranks: bars and rows stay readable, the extreme rank is kept.
ranks = 700
crowd = json.loads(json.dumps(summary))
crowd["ranks"] = ranks
for key, column in crowd["per_rank"].items():
    if isinstance(column, dict):
        for k in column:
            column[k] = [1.0 + (r % 5) for r in range(ranks)]
    else:
        crowd["per_rank"][key] = [f"n{r // 8}" if key == "host" else 6000.0 if r == 333 else 1000.0 for r in range(ranks)]
p = page(folder("crowd", dict(run, ranks=ranks), crowd, metrics))
rows = p.table("rank")
assert len(rows) == 64 and "333" in [r[0] for r in rows], rows
assert len({rect.find("title").text.split(",")[0] for rect in p.bars()[0].iter("rect")}) == 256
assert len(p.source) < 2000000

# Wrong kinds and lengths anywhere, bytes changed, files cut: a report all the same, well-formed.
random.seed(7)
def paths(value, at=()):
    if isinstance(value, (dict, list)):
        for key in (value if isinstance(value, dict) else range(len(value))):
            yield at + (key,)
            yield from paths(value[key], at + (key,))
def spoil(document):
    copy = json.loads(json.dumps(document))
    at = random.choice(list(paths(copy)))
    inner = copy
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = random.choice([None, [], {}, "text", -1, 1e300, 0, True, [1, "a", None], {"a": 1}])
    return copy
rounds = 25 if "asan" in weft else 60
for i in range(rounds):
    page(folder("spoilt", spoil(run), spoil(summary), metrics), *(["alone"] if i % 4 == 0 else []))
files = {n: open(f"three runs/{n}", "rb").read() for n in ("run.json", "summary.json", "metrics.jsonl")}
for i in range(rounds):
    cut = dict(files)
    name = random.choice(list(cut))
    data = bytearray(cut[name])
    if i % 2 == 0:
        data = data[:random.randrange(len(data))]
    else:
        for _ in range(random.randrange(1, 20)):
            data[random.randrange(len(data))] = random.randrange(256)
    cut[name] = bytes(data)
    page(folder("cut", cut["run.json"], cut["summary.json"], cut["metrics.jsonl"]))
PY
echo "test_report: passed"
