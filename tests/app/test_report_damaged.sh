#!/bin/bash
# weft report on run folders that are hostile, damaged, cut short, extreme, or belong to a job that was killed: always a
# well-formed report that says what is wrong.
# trees: asan
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work_folder
export PYTHONPATH="$source_dir/tests/support" PYTHONDONTWRITEBYTECODE=1
data=synth:quickstart,scale=0.01

python() { python3 - "$@" || fail "line ${BASH_LINENO[0]}: the check above"; }

report() {
    "$weft" report "$@" >out 2>err || fail "weft report $*: exit $?: $(cat err)"
}

"$weft" train --data $data --epochs 9 --eval-every 4 --run-dir alone --quiet >/dev/null || fail "training alone"
"$weft" train --data $data --runs 3 --epochs 12 --hidden 24 --run-dir 'three runs' --quiet >/dev/null || fail "training"

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
run["data"] = {"kind": "graph", "name": "quickstart", "hash": "1f", "rows": "vertices",
               "facts": [{"key": "vertices", "label": "vertices", "unit": "", "value": 1000}]}
summary["facts"] = [{"group": "Partition", "rows": [{"key": "a", "label": "balance", "unit": "x", "value": 1.5, "meaning": "m"}]}]
summary["per_rank"]["columns"] = [{"key": "edges", "label": "edges", "unit": ""}]
points = [0.5, -1, None, 3]
summary["drawings"] = [
    {"kind": kind, "title": kind, "x": "across", "y": "up", "unit": "s", "names": ["a", "b", "c", "d"],
     "series": [{"name": f"s{i}", "x": points, "y": points, "values": [1, 2, 3, 4], "low": points, "high": points,
                 "tint": points} for i in range(1 + (kind != "bars"))]}
    for kind in ("line", "scatter", "beeswarm", "parallel", "heat", "bars", "stacked")]
metrics = open("three runs/metrics.jsonl").read()

# Names that would be markup, steer the terminal or turn the line round.
nasty = "</title><script>alert(1)</script><img src=x onerror=y>&amp;'\"`|*_[l](http://x)\u202eevil\u0007\n# h"
bad = dict(json.loads(json.dumps(run)), ranks=2)
bad["data"]["name"] = bad["data"]["kind"] = bad["data"]["rows"] = bad["host"] = bad["cpu"] = bad["options"]["model"]["value"] = nasty
bad["options"]["lr"] = {"value": nasty, "source": nasty}
bad["options"][nasty] = {"value": nasty, "source": "command line"}
bad["versions"][nasty] = nasty
bad["data"]["facts"] += [{"key": nasty, "label": nasty, "unit": nasty, "value": nasty}]
worse = json.loads(json.dumps(summary))
worse["facts"] += [{"group": nasty, "rows": [{"label": nasty, "unit": nasty, "value": 7, "meaning": nasty}]}]
worse["per_rank"]["columns"] += [{"key": nasty, "label": nasty, "unit": nasty}]
for drawing in worse["drawings"]:
    drawing.update({"title": nasty, "x": nasty, "y": nasty, "names": [nasty] * 4})
    for series in drawing["series"]:
        series["name"] = nasty
worse["per_rank"]["host"] = [nasty]
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

# Figures by class that are hostile, ragged or of other kinds: what fits is shown, nothing beyond it is read.
for outcome in (7, [], {"warnings": 3}, {"warnings": [nasty, 5, None]}, {"classes": []}, {"classes": {"support": nasty}},
                {"classes": {"support": [1, 2, 3], "train": [1], "f1": [nasty, None], "predicted": {}}, "macro": 3,
                 "confusion": [[1], 2, [None, nasty, 1e308, 4, 5]], "confused": [1, {}, {"label": -1e300, "vertices": nasty}]},
                {"classes": {"support": [0, -1e308]}, "confusion": [[1e308, -5], [0, 0]], "split": nasty,
                 "confused": [{"label": 1e18, "predicted": 0.5, "vertices": -1}]},
                {"classes": {"support": list(range(2000))}, "confusion": [[1] * 2000]},
                {"tasks": []}, {"tasks": {"rocauc": [None, nasty, 2]}}, {"tasks": {"rocauc": [0.5] * 3000, "positive": [1]}},
                {"baseline": {"test": nasty, "valid": 1e308, "class": -1e308}}, {"baseline": 4, "macro": {}}):
    name = folder("outcome", dict(run, command=nasty + "``` ```` $(x) " + "long" * 3000), dict(summary, outcome=outcome), metrics)
    for pages in ([name], [name, "alone"]):
        p = rp.Page(report(*pages).replace("(http:", "(h:"))
        assert p.text.count("Ranks and memory") + p.text.count("Memory") >= 1
        assert len(p.source) < 1000000, (len(p.source), list(outcome))
    rp.markdown_tables(report(name, "--format", "md"))

# So with the indexes of two classes.
for indexes in (7, [], {"rows": nasty, "auc": 3, "roc": [1], "notes": 4, "by": 5},
                {"positive": nasty, "split": nasty, "rows": 0, "positives": 5, "notes": [nasty, 3], "auc": {"value": 1e308},
                 "roc": {"false_positive_rate": [0, nasty, 1e308, 1], "sensitivity": [0, 1]}, "precision_recall": {"recall": [None]},
                 "calibration": {"slope": 7, "bins": {"probability": [0.1, 0.2, -1e308], "share": [0.2, nasty, 3], "low": [0.1]}},
                 "confusion": {"true_positives": -5, "false_positives": 1e308}, "threshold": {"value": None},
                 "by": [3, {"column": nasty, "groups": 4}, {"groups": [1, {"group": nasty, "rows": "x", "auc": 4}]}]}):
    name = folder("indexes", run, dict(summary, indexes=indexes), metrics)
    p = rp.Page(report(name).replace("(http:", "(h:"))
    assert "<script>alert" not in p.source.replace("(h:", "(http:") and len(p.source) < 1000000
    rp.markdown_tables(report(name, "--format", "md"))

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
huge = ["1e308", "-1e308", "1e-323", "1e-300", "1e30", "-1e30", "1e-320", "0", "5", "1e99", "-1e99"]
p = page(folder("huge", run, None, "".join('{"run": 1, "epoch": %d, "loss": %s, "valid": %s, "test": %s, "epoch_s": %s, "comm_bytes": %s}\n' % (i + 1, v, v, v, v, v) for i, v in enumerate(huge))))
assert len(p.charts()) == 3

# Nothing, or nothing usable.
for content, words in (("", "no epoch"), (None, "metrics.jsonl is missing")):
    assert any(words in t for t in page(folder("empty" + words, run, None, content)).problems())
p = page(folder("no run.json", None, summary, metrics))
assert any("run.json cannot be used" in t for t in p.problems()) and len(p.charts()) == 3 + 4
p = page(folder("damaged", "{\"schema\": 1,", "[]", metrics))
assert sum("cannot be used" in t for t in p.problems()) == 2, p.problems()
os.makedirs("odd/metrics.jsonl", exist_ok=True)
assert page(folder("odd", run, summary)).problems()

# Many ranks: bars and rows stay readable, the extreme rank is kept.
ranks = 700
crowd = json.loads(json.dumps(summary))
crowd["ranks"] = ranks
del crowd["drawings"]
for key, column in crowd["per_rank"].items():
    if key in ("epochs", "columns"):
        continue
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
    inner[at[-1]] = random.choice([None, [], {}, "text", -1, 1e300, 1e-320, 1e-300, 0, True, [1, "a", None], {"a": 1}])
    return copy
rounds = 30
for i in range(rounds):
    page(folder("spoilt", spoil(dict(run, ranks=2)), spoil(summary), metrics), *(["alone"] if i % 4 == 0 else []))
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
echo "test_report_damaged: passed"
