"""check_report FOLDER REPORT.html REPORT.md: every figure of a report on one run folder against the files of the run."""
import json
import math
import re
import statistics
import sys

import report_page as rp

folder, html_path, md_path = sys.argv[1:]
summary = json.load(open(folder + "/summary.json", encoding="utf-8"))
run = json.load(open(folder + "/run.json", encoding="utf-8"))
lines = [json.loads(line) for line in open(folder + "/metrics.jsonl", encoding="utf-8")]
page = rp.Page(open(html_path, encoding="utf-8").read())
ranks, epochs, runs = summary["ranks"], summary["epochs"], summary["runs"]
per_rank, data = summary["per_rank"], run["data"]
facts_of_data = {row["key"]: row["value"] for row in data["facts"]}
assert per_rank["epochs"] == epochs == len(lines)


def expect(shown, exact, what):
    assert rp.near(shown, exact), f"{what}: shown {shown!r}, is {exact}"


assert page.problems() == [], page.problems()

# ---- headline ----
assert page.root.find("head/title").text == f"{data['name']} · {run['options']['model']['value']}"
tiles = page.tiles()
expect(tiles["Test accuracy"][0], summary["test_mean"], "test")
expect(tiles["Validation accuracy"][0], summary["valid_mean"], "valid")
assert abs(rp.number(tiles["Test accuracy"][0]) - summary["test_mean"]) < 5.1e-5
if runs > 1:
    assert f"± {100 * summary['test_std']:.2f} over {runs} runs" in tiles["Test accuracy"][1], tiles
else:
    assert "±" not in page.text, "one run has no standard deviation"
expect(tiles["Time of an epoch"][0], summary["epoch_s_median"], "epoch")
q1, q3 = tiles["Time of an epoch"][1].removeprefix("median; quartiles ").split(", ")
expect(q1, summary["epoch_s_q1"], "q1")
expect(q3, summary["epoch_s_q3"], "q3")
expect(tiles["Sent in an epoch"][0], sum(per_rank["epoch_sent_bytes"]) / epochs, "bytes of an epoch")
rank0 = [l["comm_bytes"] for l in lines]
assert per_rank["epoch_sent_bytes"][0] == sum(rank0), "rank 0's bytes: summary.json and metrics.jsonl agree"
expect(tiles["Peak memory"][0], max(per_rank["peak_rss_bytes"]), "peak memory")
assert max(per_rank["peak_rss_bytes"]) == summary["peak_rss_bytes"]

# ---- runs and epochs ----
by_run = {r: [l for l in lines if l["run"] == r] for r in range(1, runs + 1)}
best = {r: max((l for l in v if "valid" in l), key=lambda l: (l["valid"], -l["epoch"])) for r, v in by_run.items()}
rows = page.table("run")
assert len(rows) == runs
for row, (r, own) in zip(rows, by_run.items()):
    assert [row[0], row[1], row[2]] == [str(r), str(len(own)), str(best[r]["epoch"])], row
    expect(row[3], best[r]["valid"], "valid of a run")
    expect(row[4], best[r]["test"], "test of a run")
    expect(row[5], own[-1]["loss"], "last loss")
for row in page.table("epoch"):
    epoch = int(row[0])
    for cell, key in zip(row[1:], ("loss", "train", "valid", "test", "epoch_s", "lr")):
        value = dict(rp.medians(lines, key)).get(epoch)
        expect(cell, value, f"{key} of epoch {epoch}")
assert [int(r[0]) for r in page.table("epoch")][-1] == max(e for e, _ in rp.medians(lines, "valid"))

# ---- curves ----
charts = page.charts()
rates = {l["lr"] for l in lines}
assert len(charts) == 3 + (len(rates) > 1), [c.title for c in charts]
loss, score, time = [c for c in charts if not c.title.startswith("Learning rate")]
assert len(rates) > 1 or f"Learning rate {rates.pop():g} in every epoch." in page.text
loss.check("loss", rp.medians(lines, "loss"))
for key in ("train", "valid", "test"):
    score.check(key, rp.medians(lines, key))
clip = 3 * summary["epoch_s_q3"]
time.check("epoch", [(e, min(v, time.y[1])) for e, v in rp.medians(lines, "epoch_s")])
assert time.y[0] == 0 and time.y[1] >= min(clip, max(v for _, v in rp.medians(lines, "epoch_s"))) * 0.999
assert set(score.labels) == {"train", "valid", "test"} and loss.labels == ["loss"]
if ranks > 1:
    time.check("rank 0 waits", [(e, min(v, time.y[1])) for e, v in rp.medians(lines, "comm_exposed_s")])
assert len(loss.faint) == (runs if runs > 1 else 0), len(loss.faint)
for points, own in zip(loss.faint, by_run.values()):
    assert len(points) == len(own)
top = max(best.values(), key=lambda l: l["valid"])
assert f"{100 * top['valid']:.2f} %, epoch {top['epoch']}" in score.notes[0], score.notes
assert abs(score.dots[0][0] - top["epoch"]) < 0.1 and abs(score.dots[0][1] - top["valid"]) < 1e-3, score.dots

# ---- time ----
activities = per_rank["activity_s"]
shares = 0
for row in page.table("activity, per epoch"):
    seconds = [s / epochs for s in activities[row[0]]]
    for cell, value in zip(row[1:4], (min(seconds), statistics.mean(seconds), max(seconds))):
        expect(cell, value, row[0])
    shares += rp.number(row[4])
assert abs(shares - 1) < 0.01, shares
for row in page.table("once a job"):
    seconds = activities[row[0]]
    for cell, value in zip(row[1:], (min(seconds), statistics.mean(seconds), max(seconds))):
        expect(cell, value, row[0])
named = {r[0] for r in page.table("activity, per epoch")} | {r[0] for r in page.table("once a job")}
assert named == set(activities), named ^ set(activities)
for a, seconds in activities.items():
    assert len(seconds) == ranks and math.isclose(statistics.mean(seconds), summary["activity_s_avg"][a], abs_tol=1e-6), a
for r in range(ranks):
    assert math.isclose(sum(v[r] for v in activities.values()), per_rank["wall_s"][r], abs_tol=2e-5), "seconds add up"
bars = page.bars()[0]
low, high, from_px, to_px = [float(v) for v in bars.get("data-x").split()]
for rect in bars.iter("rect"):
    name, rest = rect.find("title").text.split(", ", 1)
    activity = rest.rsplit(": ", 1)[0]
    seconds = float(rect.get("width")) / (to_px - from_px) * (high - low)
    exact = activities[activity][int(name.split()[1])] / epochs
    assert abs(seconds - exact) <= 0.011 / (to_px - from_px) * high, (name, activity, seconds, exact)

items = [rp.text_of(p) for p in page.root.iter("p") if p.get("class") == "item"]
assert items == [" ".join(line.split()) for line in summary["advice"]], items
startup = re.search(r", ([^,]*) until the first epoch", page.text)[1]
expect(startup, summary["startup_s"], "start-up")

# ---- what was reached ----
outcome = summary["outcome"]
expect(tiles["Baseline"][0], outcome["baseline"]["test"], "baseline")
assert page.warnings() == outcome["warnings"], page.warnings()
assert [int(r[0]) for r in page.table("class")[:-2]] == list(range(facts_of_data["classes"]))
assert page.code() == [run["command"]], page.code()

# ---- communication, partition, ranks ----
if ranks > 1:
    sent = page.table("sent per rank, whole job")
    assert {r[0] for r in sent} == set(per_rank["sent_bytes"])
    for row in sent:
        values = per_rank["sent_bytes"][row[0]]
        for cell, value in zip(row[1:4], (min(values), statistics.mean(values), max(values))):
            expect(cell, value, row[0])
        assert abs(rp.number(row[4]) - summary["lanes"][row[0]]["sent_messages_avg"]) <= 0.5, row
    p = {row["key"]: row["value"] for group in summary["facts"] for row in group["rows"]}
    assert sum(per_rank["owned_vertices"]) == facts_of_data["vertices"]
    assert sum(per_rank["edges"]) == facts_of_data["edges"]
    assert math.isclose(sum(per_rank["held_vertices"]) / facts_of_data["vertices"], p["replication_factor"], rel_tol=0.02)
    assert math.isclose(max(per_rank["edges"]) * ranks / sum(per_rank["edges"]), p["edge_balance"], rel_tol=1e-9)
tables = [t[1:] for t in page.tables() if t[0] == ["figure", "value", "meaning"]]
groups = [g["rows"] for g in summary["facts"] if g["rows"]]
assert len(tables) == len(groups)
for rows, group in zip(tables, groups):
    for row, fact in zip(rows, group, strict=True):
        assert row[0] == fact["label"] and row[2] == fact["meaning"], (row, fact)
        value = fact["value"] / 100 if fact["unit"] == "%" else fact["value"]
        assert row[1] == str(value) or rp.near(row[1], value), (row, fact)
table = page.table("rank")
assert len(table) == ranks
for row in table:
    r = int(row[0])
    assert row[1] == per_rank["host"][r] == run["host"]
    own = [per_rank[c["key"]][r] for c in per_rank["columns"]]
    for cell, value in zip(row[2:], (*own, per_rank["epoch_sent_bytes"][r] / epochs, per_rank["comm_exposed_s"][r] / epochs,
                                     per_rank["peak_rss_bytes"][r], per_rank["allocated_peak_bytes"][r]), strict=True):
        expect(cell, value, f"rank {r}")

# ---- settings, versions ----
options = [t for t in page.tables() if t[0][0] == "option"]
shown = {row[0]: row[1:] for t in options for row in t[1:]}
assert shown.keys() == {"--" + k for k in run["options"]}
for name, option in run["options"].items():
    row = shown["--" + name]
    assert row[0] == (option["value"] or "(empty)"), (name, row)
    assert option["source"] == (row[1] if len(row) > 1 else "default"), (name, row)
facts = {row[0]: row[1] for t in page.tables() if t[0][0] == "fact" for row in t[1:]}
for name, version in run["versions"].items():
    assert facts[name] == version, name
for row in data["facts"]:
    value = {True: "yes", False: "no"}[row["value"]] if isinstance(row["value"], bool) else f"{row['value']:,}"
    assert facts[row["label"]] == value, row
assert facts["processor"] == " ".join(run["cpu"].split()) and facts["hash"] == data["hash"]

# ---- Markdown: the same facts ----
markdown = open(md_path, encoding="utf-8").read()
tables = rp.markdown_tables(markdown)
assert sum(line.startswith("- ") for line in markdown.splitlines()) == len(items)
headline = {row[0]: row[1] for row in tables[0][1:]}
assert headline == {name: value for name, (value, _) in tiles.items()}, headline
assert tables[1:] == page.tables(), "HTML and Markdown differ"
