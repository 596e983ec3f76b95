#!/bin/bash
# weft report on what a workload tells of itself: facts of data and results, columns of ranks, and drawings, from run
# folders that are written here; and which drawings are left out, with the reason.
# trees: asan
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work_folder
export PYTHONPATH="$source_dir/tests/support" PYTHONDONTWRITEBYTECODE=1

python3 - "$weft" <<'PY' || fail "the check above"
import json, math, os, re, subprocess, sys
import report_page as rp
weft = sys.argv[1]

def report(*arguments):
    done = subprocess.run([weft, "report", *arguments, "--out", "-"], capture_output=True, timeout=60)
    assert done.returncode == 0, (arguments, done.stderr.decode("utf-8", "replace"))
    return done.stdout.decode("utf-8")

def folder(name, run, summary):
    os.makedirs(name, exist_ok=True)
    json.dump(run, open(f"{name}/run.json", "w"))
    json.dump(summary, open(f"{name}/summary.json", "w"))
    open(f"{name}/metrics.jsonl", "w").write('{"run": 1, "epoch": 1, "loss": 2.5}\n')
    return name

# ---- a kind of data that nobody knows: facts, columns, words ----
run = {"schema": 2, "ranks": 2, "threads_per_rank": 1, "exit": 0, "host": "n0", "cpu": "a processor", "versions": {"weft": "1"},
       "options": {"model": {"value": "boosted", "source": "command line"}},
       "data": {"kind": "table", "name": "clicks", "hash": "ab12", "rows": "clicks", "class_names": ["no", "yes"],
                "facts": [{"key": "rows", "label": "clicks", "unit": "", "value": 45840617},
                          {"key": "missing", "label": "missing values", "unit": "%", "value": 12.5},
                          {"key": "store", "label": "on disk", "unit": "bytes", "value": 2500000},
                          {"key": "sorted", "label": "sorted", "unit": "", "value": False},
                          {"key": "time", "label": "order", "value": "by day"}]}}
summary = {"schema": 2, "runs": 1, "epochs": 1,
           "facts": [{"group": "Trees", "rows": [
               {"key": "depth", "label": "depth", "unit": "", "value": 6, "meaning": "of the deepest tree"},
               {"key": "flops", "label": "work", "unit": "GFLOP", "value": 1234.5, "meaning": ""},
               {"key": "gain", "label": "gain", "unit": "x", "value": 1.25, "meaning": "over one tree"},
               {"key": "none", "label": "unknown", "unit": "s", "value": None, "meaning": ""}]}, {"group": "Empty", "rows": []}],
           "per_rank": {"epochs": 1, "wall_s": [1, 2], "host": ["n0", "n1"], "rows": [10, 20], "share": [25, 75],
                        "columns": [{"key": "rows", "label": "clicks held", "unit": ""},
                                    {"key": "share", "label": "share", "unit": "%"}, {"key": "absent", "label": "absent"}]}}
source = report(folder("table", run, summary))
page = rp.Page(source)
headings = [rp.text_of(h) for h in page.root.iter("h2")]
assert "Table" in headings and "Trees" in headings and "Empty" not in headings and "Figures" not in headings, headings
assert "clicks · boosted" in page.text and "earlier version" not in page.text
facts = {row[0]: row[1] for t in page.tables() if t[0][0] == "fact" for row in t[1:]}
for label, value in {"clicks": "45,840,617", "missing values": "12.50 %", "on disk": "2.50 MB", "sorted": "no", "order": "by day",
                     "name": "clicks", "hash": "ab12", "weft": "1"}.items():
    assert facts[label] == value, (label, facts)
assert page.table("figure")[-4:] == [["depth", "6", "of the deepest tree"], ["work", "1234 GFLOP", ""],
                                     ["gain", "1.250", "over one tree"], ["unknown", "–", ""]], page.table("figure")
header = [t[0] for t in page.tables() if t[0][0] == "rank"][0]
assert header[:5] == ["rank", "host", "clicks held", "share", "absent"] and header[5:][0] == "sent per epoch", header
assert [r[:5] for r in page.table("rank")] == [["0", "n0", "10", "25.00 %", "–"], ["1", "n1", "20", "75.00 %", "–"]]
assert rp.markdown_tables(report("table", "--format", "md"))[1:] == page.tables()

# ---- comparison: whatever differs, in whatever key ----
other = json.loads(json.dumps(run))
other.update({"cpu": "another", "started": "now", "a new key": 5})
other["data"].update({"name": "views", "hash": "cd34"})
other["data"]["facts"][0]["value"] = 7
other["versions"]["weft"] = "2"
page = rp.Page(report("table", folder("other", other, summary)))
settings = {r[0]: r[1:] for r in page.table("setting")}
assert settings == {"cpu": ["a processor", "another"], "a new key": ["–", "5"], "name": ["clicks", "views"],
                    "hash": ["ab12", "cd34"], "rows": ["45,840,617", "7"], "weft": ["1", "2"]}, settings

other["data"]["facts"] = [{"key": f"k{i}", "value": i} for i in range(3000)]
page = rp.Page(report("table", folder("other", other, summary)))
assert page.problems() == ["Of a folder's options, facts or versions the first 1000 are compared."], page.problems()
assert len(page.table("setting")) == 5 + 5 + 1000, len(page.table("setting"))

# ---- a folder of an earlier version ----
old = {k: v for k, v in run.items() if k != "data"}
old["clicks"] = {"name": "clicks", "hash": "ab12", "rows": 45840617}
page = rp.Page(report(folder("old", old, {"schema": 1, "partition": {"edges": 5}, "per_rank": {"wall_s": [1, 2]}})))
assert "earlier version of Weft" in page.text and "clicks · boosted" in page.text and "ab12" in page.text

# ---- second order: phases, clip and damping of metrics.jsonl ----
def second(method, damping, clips, refused=0):
    done = dict(run, options={"precondition": {"value": method, "source": "command line"}})
    lines = [dict(run=1, epoch=e + 1, loss=2.0, epoch_s=0.5, second_clip=clip, second_damping=damping, second_refused=refused,
                  second_factors_s=0.01 * e, second_inverses_s=0.02, second_steps_s=0.03) for e, clip in enumerate(clips)]
    path = folder("second", done, summary)
    open(path + "/metrics.jsonl", "w").write("".join(json.dumps(line) + "\n" for line in lines))
    return rp.Page(report(path)), report(path, "--format", "md")

assert "Second order" not in [rp.text_of(h) for h in page.root.iter("h2")]
page, text = second("kfac", 0.3, [0.2, 0.5, 1, 1], 2)
assert "Second order" in [rp.text_of(h) for h in page.root.iter("h2")] and "## Second order" in text
assert "kfac took 13.00 % of the epochs' time, 260 ms in all." in page.text, page.text
assert "The clip shortened the last step of 2 of 4 epochs." in page.text and len(page.problems()) == 1, page.problems()
assert page.table("phase") == [["factors", "60.0 ms", "15.0 ms", "3.00 %"], ["inverses", "80.0 ms", "20.0 ms", "4.00 %"],
                               ["steps", "120 ms", "30.0 ms", "6.00 %"]], page.table("phase")
assert rp.markdown_tables(text)[1:] == page.tables()
charts = {c.title: c for c in page.charts()}
charts["Time of second order in each epoch"].check("factors", [(1, 0), (2, 0.01), (3, 0.02), (4, 0.03)])
charts["Damping, and the factor of the clip"].check("clip", [(1, 0.2), (2, 0.5), (3, 1), (4, 1)])
page, text = second("muon", 0, [1, 1])
assert [row[0] for row in page.table("phase")] == ["exchange", "orthogonal steps", "update"] and "clip" not in page.text.lower()
assert "Damping, and the factor of the clip" not in [c.title for c in page.charts()] and page.problems() == []

# ---- drawings ----
def drawn(*drawings):
    return rp.Page(report(folder("drawn", run, dict(summary, drawings=list(drawings)))))

def svg_of(page, title):
    return next(s for s in page.root.iter("svg") if s.find("title") is not None and s.find("title").text == title)

line = {"kind": "line", "title": "Lines", "x": "trees", "y": "gain", "unit": "s", "series": [
    {"name": "one", "x": [0, 2.5, 5], "y": [1, 4, 2], "low": [0.5, 3, 1], "high": [2, 6, 3]}, {"name": "two", "x": [1, 2], "y": [3, None]}]}
scatter = {"kind": "scatter", "title": "Points", "x": "rate", "y": "score", "unit": "%", "series": [
    {"name": "s", "x": [0.1, 0.2, 0.4, None], "y": [10, 50, 90, 3]}]}
bees = {"kind": "beeswarm", "title": "Contributions", "x": "change of the score", "series": [
    {"name": "age", "x": [1, 1, 1, -2, 3], "tint": [0, 0.5, 1, 2, None]}, {"name": "a feature with a long name", "x": [0.5] * 40}]}
parallel = {"kind": "parallel", "title": "Trials", "x": "settings", "series": [
    {"name": "lr", "values": [0.1, 0.01, 0.2]}, {"name": "depth", "values": [3, None, 8]}, {"name": "score", "unit": "%", "values": [50, 70, 90]}]}
heat = {"kind": "heat", "title": "Heat", "y": "feature", "names": ["a", "b"], "series": [
    {"name": "f", "values": [0, 5]}, {"name": "g", "values": [10]}]}
bars = {"kind": "bars", "title": "Importance", "names": ["age", "sex"], "series": [{"name": "gain", "values": [3, 1]}]}
stacked = {"kind": "stacked", "title": "Stack", "unit": "bytes", "names": ["n0", "n1", "n2"], "series": [
    {"name": "p", "values": [1000, 2000, 0]}, {"name": "q", "values": [500]}]}
page = drawn(line, scatter, bees, parallel, heat, bars, stacked)
assert page.problems() == [], page.problems()
assert "Figures" in [rp.text_of(h) for h in page.root.iter("h2")]
for title in ("Lines", "Points", "Contributions", "Trials"):
    svg = svg_of(page, title)
    assert svg.get("role") == "img" and "Across: " in svg.find("desc").text, title
    width, height = [float(v) for v in svg.get("viewBox").split()[2:]]
    for e in svg.iter():
        for key, most in (("cx", width), ("cy", height), ("x1", width), ("x2", width), ("y1", height), ("y2", height)):
            assert 0 <= float(e.get(key, 0)) <= most, (title, e.attrib)
        for x, y in re.findall(r"[ML]([-0-9.]+) ([-0-9.]+)", e.get("d", "")):
            assert 0 <= float(x) <= width and 0 <= float(y) <= height, (title, e.attrib)

charts = {c.title: c for c in page.charts()}
def near(points, expected):
    return len(points) == len(expected) and all(abs(a - b) < 0.02 for p, q in zip(points, expected) for a, b in zip(p, q))

charts["Lines"].check("one", [(0, 1), (2.5, 4), (5, 2)])
assert near(charts["Lines"].faint[0], [(0, 2), (2.5, 6), (5, 3), (5, 1), (2.5, 3), (0, 0.5)]), charts["Lines"].faint
assert len(charts["Lines"].faint) == 1 and charts["Lines"].labels == ["two", "one"] and "6 s" in charts["Lines"].ticks
assert near([(x, y / 100) for x, y in charts["Points"].dots], [(0.1, 0.1), (0.2, 0.5), (0.4, 0.9)]), charts["Points"].dots
assert "40 %" in charts["Points"].ticks, charts["Points"].ticks
dots = charts["Contributions"].dots
assert near(sorted((x, 0) for x, _ in dots[:5]), [(-2, 0), (1, 0), (1, 0), (1, 0), (3, 0)]), dots
assert all(abs(x - 0.5) < 0.02 for x, _ in dots[5:]) and len(dots) == 45
assert all(y > 1 for _, y in dots[:5]) and all(y < 1 for _, y in dots[5:])
shades = [c.get("style") for c in svg_of(page, "Contributions").iter("circle")][:5]
assert sorted(shades) == ["--share:0%", "--share:100%", "--share:100%", "--share:50%", "--share:50%"], shades
assert "a feature with a…" in "".join(rp.text_of(t) for t in svg_of(page, "Contributions").iter("text"))
lines = [p for p in svg_of(page, "Trials").iter("path")]
assert [p.get("style") for p in lines] == ["--share:0%", "--share:50%", "--share:100%"], [p.attrib for p in lines]
table = [t for t in page.tables() if t[0] == ["feature", "a", "b"]][0]
assert table[1:] == [["f", "0", "5"], ["g", "10", "–"]], table
shaded = [c.get("style") for c in page.root.iter("td") if "miss" in c.get("class", "")]
assert shaded == [
    "--share:0%", "--share:20%", "--share:40%", "--share:0%"], shaded
importance, stack = page.bars()[:2]
widths = [(r.find("title").text, float(r.get("width"))) for r in stack.iter("rect")]
assert [t for t, _ in widths] == ["n0, p: 1.00 kB", "n0, q: 500 B", "n1, p: 2.00 kB"], widths
assert math.isclose(widths[0][1], 500, abs_tol=0.01) and math.isclose(widths[2][1], 1000, abs_tol=0.01), widths
assert [r.find("title").text for r in importance.iter("rect")] == ["age, gain: 3", "sex, gain: 1"]
markdown = report("drawn", "--format", "md")
assert "Trials: a drawing, which the HTML report shows." in markdown
assert [["feature", "a", "b"], ["f", "0", "5"], ["g", "10", "–"]] in rp.markdown_tables(markdown)

# ---- what cannot be drawn is told, and the others are drawn ----
def refused(drawing, words):
    page = drawn(bars, drawing, scatter)
    told = page.problems()
    assert len(told) == 1 and "Figure 2, " in told[0] and words in told[0], (told, words)
    assert len(page.charts()) == 2 and len(page.bars()) == 2, len(page.bars())

refused({"kind": "pie", "title": "P"}, "its kind is none of line, scatter")
refused(7, "its kind is none of")
refused({"kind": "line"}, "it has 0 series; line takes 1 to 32")
refused(dict(line, series=[{"name": "n", "x": [1, 2]}]), "lack numbers x and y")
refused(dict(scatter, series=[{"x": [1], "y": [1e300]}]), "lack numbers x and y")
refused(dict(bees, series=[{"x": ["a", None]}]), "lack numbers x")
refused(dict(parallel, series=parallel["series"][:1]), "it has 1 series; parallel takes 2 to 12")
refused(dict(parallel, series=[{"values": []}, {"values": [None]}]), "lack numbers values")
refused(dict(bars, series=[{"values": [1, -1]}]), "lack numbers values of 0 or more")
refused(dict(bars, names=[]), "names of rows")
refused(dict(bars, series=bars["series"] * 2), "bars takes 1 to 1")
refused(dict(heat, series=[{"values": [None]}]), "lack numbers values, and names of columns")
refused(dict(line, series=line["series"] * 17), "more than 32 series")
page = drawn(*[bars] * 70)
assert any("first 64 figures" in t for t in page.problems()) and len(page.bars()) == 65, len(page.bars())

# ---- limits: many points, evenly chosen; the same place for all; one value ----
many = list(range(20000))
page = drawn(dict(scatter, series=[{"name": "s", "x": many, "y": many}]), dict(bees, series=[{"name": "b", "x": many}, {"x": [5] * 4000}]),
             dict(parallel, series=[{"name": "a", "values": many[:5000]}] * 12))
assert page.problems() == [] and len(page.source) < 2000000
dots = page.charts()[1].dots
assert len(dots) == 1000 and dots[0][0] < 1 and dots[-1][0] > 19900, (len(dots), dots[0], dots[-1])
assert len(page.charts()[2].dots) == 600
assert len(drawn(dict(scatter, series=[{"x": [3], "y": [3]}])).charts()[1].dots) == 1
PY
echo "test_report_figures: passed"
