#!/bin/bash
# weft report in a real browser: headless Chromium shows the text, draws the curves in their colours where the run's
# metrics say, in light and dark, and says an epoch's values under the pointer.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
need_browser
work_folder
export PYTHONPATH="$source_dir/tests/support" PYTHONDONTWRITEBYTECODE=1

ranks 2 "$weft" train --data synth:quickstart,scale=0.01 --epochs 30 --run-dir run --quiet >/dev/null 2>err ||
    fail "training: $(cat err)"
"$weft" report run --out page.html >/dev/null || fail "weft report"

# The pointer over the second drawing, at epoch 12; the browser tells where the first one stands.
python3 - <<'PY' || fail "preparing the page"
source = open("page.html", encoding="utf-8").read()
probe = """<script>
var charts = document.querySelectorAll('svg.chart'), s = charts[1], r = s.getBoundingClientRect();
var X = s.dataset.x.split(' ').map(Number), x = X[2] + (12 - X[0]) / (X[1] - X[0]) * (X[3] - X[2]);
s.dispatchEvent(new MouseEvent('mousemove', {clientX: r.left + x * r.width / 560, clientY: r.top + 50, bubbles: true}));
var f = charts[0].getBoundingClientRect();
document.body.dataset.first = [f.left, f.top, f.width, f.height].join(' ');
document.body.dataset.tip = s.querySelector('.tip').textContent;
</script></body>"""
open("probe.html", "w", encoding="utf-8").write(source.replace("</body>", probe))
PY
browse --hide-scrollbars --window-size=700,1100 --dump-dom "file://$work/probe.html" >dom.html || fail "the browser: $(tail -5 browser.log)"
browse --hide-scrollbars --window-size=700,1100 --screenshot="$work/light.png" "file://$work/page.html" >/dev/null || fail "$(tail -5 browser.log)"
browse --hide-scrollbars --window-size=700,1100 --blink-settings=preferredColorScheme=0 --screenshot="$work/dark.png" \
    "file://$work/page.html" >/dev/null || fail "$(tail -5 browser.log)"
[ -s light.png ] && [ -s dark.png ] || fail "no screenshot: $(tail -5 browser.log)"

python3 - <<'PY' || fail "what the browser shows"
import json
import re
import png
import report_page as rp
dom = open("dom.html", encoding="utf-8").read()
lines = [json.loads(line) for line in open("run/metrics.jsonl")]
summary = json.load(open("run/summary.json"))
for text in ("quickstart · sage", "Learning", "Training loss", "Ranks and memory", "--run-dir",
             f"{100 * summary['test_mean']:.2f} %"):
    assert text in dom, f"the browser does not show {text!r}"
at = lines[11]
tip = re.search(r'data-tip="([^"]*)"', dom)[1]
shown = dict(re.findall(r"(train|valid|test) ([0-9.]+) %", tip))
assert tip.startswith("epoch 12 ") and len(shown) == 3, tip
for key, value in shown.items():
    assert abs(float(value) - 100 * at[key]) < 0.1, (key, value, at[key])

left, top, width, height = [float(v) for v in re.search(r'data-first="([^"]*)"', dom)[1].split()]
chart = rp.Page(open("page.html", encoding="utf-8").read()).charts()[0]
scale = width / 560


def near(a, b):
    return all(abs(x - y) <= 40 for x, y in zip(a, b))


for file, paper, ink, curve in (("light.png", (252, 251, 249), (31, 35, 40), (0, 114, 178)),
                                ("dark.png", (21, 24, 28), (232, 230, 225), (86, 180, 233))):
    w, h, rows = png.read(file)
    assert (w, h) == (700, 1100), (w, h)
    flat = [p for row in rows for p in row]
    assert flat.count(paper) > len(flat) / 2, f"{file}: the background"
    assert sum(near(p, ink) for p in flat) > 500, f"{file}: no text"
    assert sum(near(p, curve) for p in flat) > 300, f"{file}: no curve"
    found = looked = 0
    for epoch, loss in [(l["epoch"], l["loss"]) for l in lines]:
        px = chart.x[2] + (epoch - chart.x[0]) / (chart.x[1] - chart.x[0]) * (chart.x[3] - chart.x[2])
        py = chart.y[2] + (loss - chart.y[0]) / (chart.y[1] - chart.y[0]) * (chart.y[3] - chart.y[2])
        x, y = left + px * scale, top + py * scale
        if y < h - 3:
            looked += 1
            found += any(near(rows[int(y) + j][int(x) + i], curve) for j in (-1, 0, 1) for i in (-1, 0, 1))
    assert looked >= 15 and found == looked, f"{file}: {found} of {looked} points of the loss are on the curve"
PY
echo "test_report_browser: passed"
