#!/bin/bash
# weft report on screens of 400 and 1280 pixels, light and dark, in a real browser: no broken word, first columns whole,
# tables that scroll in their own box, letters that can be read, and contrast; of one run, and of several compared.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
need_browser
work_folder
data=synth:quickstart,scale=0.01

ranks 2 "$weft" train --data $data --epochs 30 --runs 3 --run-dir "a run with a long-winded name of its own" --quiet >/dev/null 2>err ||
    fail "training: $(cat err)"
"$weft" train --data $data --epochs 25 --lr 5 --schedule cosine --threads 1 --run-dir jump --quiet >/dev/null 2>err ||
    fail "training: $(cat err)"
"$weft" report "a run with a long-winded name of its own" --out one.html >/dev/null &&
    "$weft" report jump --out jump.html >/dev/null &&
    "$weft" report jump "a run with a long-winded name of its own" --out both.html >/dev/null || fail "weft report"

# Each page in a frame of each width; a frame's own width decides how it is laid out.
python3 - "$source_dir/tests/support/page_probe.js" <<'PY' || fail "preparing the frames"
import html
import sys
frames = ""
for page in ("one", "jump", "both"):
    source = html.escape(open(page + ".html", encoding="utf-8").read())
    for width in (400, 1280):
        frames += f'<iframe id="{page} {width}" style="border:0;width:{width}px;height:900px" srcdoc="{source}"></iframe>\n'
script = open(sys.argv[1], encoding="utf-8").read() + """
window.addEventListener("load", function () {
  var told = {};
  document.querySelectorAll("iframe").forEach(function (frame) { told[frame.id] = probe(frame); });
  document.body.dataset.told = JSON.stringify(told);
});"""
open("frames.html", "w", encoding="utf-8").write(
    f"<!DOCTYPE html><html><head><meta charset=\"utf-8\"></head><body>{frames}<script>{script}</script></body></html>")
PY

frames=(--window-size=1400,1000 --dump-dom "file://$work/frames.html")
browse "${frames[@]}" >light.html || fail "the browser: $(tail -5 browser.log)"
browse --blink-settings=preferredColorScheme=0 "${frames[@]}" >dark.html || fail "the browser: $(tail -5 browser.log)"

python3 - <<'PY' || fail "what the browser shows"
import html
import json
import re
bad, looked = 0, {}
for scheme, paper in (("light", "rgb(252, 251, 249)"), ("dark", "rgb(21, 24, 28)")):
    told = json.loads(html.unescape(re.search(r'data-told="([^"]*)"', open(scheme + ".html", encoding="utf-8").read())[1]))
    assert len(told) == 6, told.keys()
    for frame, found in told.items():
        assert found["paper"] == paper, (scheme, frame, found["paper"])
        for fault in found["faults"][:12]:
            print(f"{scheme}, {frame}: {fault}")
        bad += len(found["faults"])
        looked[scheme, frame] = found["seen"]
assert bad == 0, f"{bad} faults"
for (_, frame), seen in looked.items():
    assert seen["words"] > 500 and seen["cells"] > 90 and seen["letters"] > 25 and seen["colours"] > 500, (frame, seen)
    assert seen["bars"] >= 2 and (not frame.endswith(" 400") or seen["scrolled"] >= 3), (frame, seen)
PY
echo "test_report_narrow: passed"
