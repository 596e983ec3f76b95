#!/usr/bin/env bash
# README, "From CSV files to a report": its commands, as they stand, in a folder that holds three CSV files and nothing
# else. needs: mpirun
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/new"
cd "$work/new"
ln -s "$weft" "$work/bin/weft"
export PATH="$work/bin:$PATH" OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

# 1200 vertices of 3 classes; neighbours mostly of one class, features of little use alone.
python3 - <<'PY'
import random

random.seed(7)
n = 1200
label = [v % 3 for v in range(n)]
edges = [(u, v) for v in range(n) for u in [random.randrange(n) for _ in range(16)] if label[u] == label[v] and u != v]
open("edges.csv", "w").write("source,target\n" + "".join("%d,%d\n" % edge for edge in edges))
open("features.csv", "w").write("".join(",".join("%.4f" % (random.gauss(0, 1) + (j == c)) for j in range(6)) + "\n"
                                        for c in label))
open("labels.csv", "w").write("".join("%d\n" % c for c in label))
PY

# The first block of the section.
awk '/^### From CSV files to a report$/ {here = 1} here && /^```$/ {if (on) exit; on = 1; next} on' \
  "$source_dir/README.md" >commands.sh
count=$(grep -c . commands.sh)
[ "$count" -ge 3 ] && [ "$count" -le 4 ] || fail "README has $count commands, expected 3 or 4: $(cat commands.sh)"
grep -v -E '^(mpirun -np [0-9]+ )?weft ' commands.sh && fail "README has a command that is not weft's"
bash -e commands.sh >out.txt 2>err.txt || fail "$(tail -5 err.txt)"
rm commands.sh

accuracy=$(sed -n 's/^ *Final Test: \([0-9.]*\) .*/\1/p' out.txt)
python3 - "$accuracy" <<'PY'
import sys
import xml.etree.ElementTree

accuracy = float(sys.argv[1])
assert accuracy > 80, "test accuracy %.2f: the model has learnt nothing" % accuracy
page = "".join(xml.etree.ElementTree.parse("run/report.html").getroot().itertext())
assert "%.2f" % accuracy in page or "%.1f" % accuracy in page, "the report lacks the test accuracy %.2f" % accuracy
PY
for file in run/report.html run/predictions.npy run/summary.json graph.weft/manifest.json; do
  [ -s "$file" ] || fail "$file is missing"
done
grep -q '"startup_s": [0-9]' run/summary.json || fail "summary.json lacks startup_s"
grep -q 'first epoch after [0-9.]* s' err.txt || fail "the log lacks the time to the first epoch"
echo "from CSV files to a report in $count commands: test accuracy $accuracy %"
