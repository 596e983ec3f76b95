#!/usr/bin/env bash
# A busy process on each CPU of a training is named as the reason for its low CPU use, with its pid, in the closing table and in
# summary.json; other ranks of the job never are. On a machine that others use too, three of them may have had more than it.
# needs: mpirun. timeout: 500
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
need taskset
work=$(mktemp -d)
pids=()
trap '[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
    awk -F- '{for (c = $1; c <= ($2 == "" ? $1 : $2); c++) print c}')
[ "${#cpus[@]}" -ge 2 ] || skip "one CPU"
"$weft" convert synth:quickstart,scale=0.1 --out store --quiet
cp "$(command -v bash)" spinner
ln -s "$weft" trained-here # a name that no other job has
for cpu in "${cpus[0]}" "${cpus[1]}"; do
    taskset -c "$cpu" ./spinner -c 'while [ $SECONDS -lt 480 ]; do :; done' & # ends by itself if this script is killed
    pids+=($!)
done

# What the busy processes have had so far: fields 14 and 15, behind a name without blanks.
ticks() { for pid in "${pids[@]}"; do awk '{print $14 + $15}' "/proc/$pid/stat"; done | tr '\n' ' '; }

# Two seconds of training and more have advice: as many epochs as take four, however much of the CPUs this job gets.
epochs=40
for ranks in 1 2; do
    launch=()
    [ $ranks -eq 1 ] || launch=(mpirun --oversubscribe --bind-to none -np 2)
    while :; do
        had=$(ticks) began=$EPOCHREALTIME
        taskset -c "${cpus[0]},${cpus[1]}" "${launch[@]}" "$work/trained-here" train --data store --epochs $epochs \
            --eval-every 0 --checkpoint-every 0 --run-dir run$ranks.$epochs >out$ranks 2>err$ranks || fail "$(tail -3 err$ranks)"
        ended=$EPOCHREALTIME
        run=run$ranks.$epochs
        tenths=$(sed -n 's/.*"epoch_s": *\([0-9.e-]*\).*/\1/p' $run/metrics.jsonl | awk '{s += $1} END {print int(10 * s)}')
        [ "$tenths" -lt 40 ] || break
        epochs=$((epochs * 50 / (tenths > 5 ? tenths : 5)))
    done
    advice=$(grep 'advice: .*other processes had' out$ranks) || fail "$ranks ranks: no line about others: $(tail -12 out$ranks)"
    ! grep -q 'trained-here (pid' <<<"$advice" || fail "the job competes with itself: $advice"
    python3 - $run "$advice" "${pids[*]}" "$had" "$(ticks)" "$began" "$ended" <<'PY'
import json
import os
import re
import sys

run, line, pids, had, has, began, ended = sys.argv[1:]
assert line[len("advice: "):] in json.load(open(run + "/summary.json"))["advice"], line
named = [(int(pid), float(cpus)) for pid, cpus in re.findall(r"\(pid (\d+)\) (\d\.\d)", line)]
seconds = float(ended) - float(began)
share = [(int(b) - int(a)) / os.sysconf("SC_CLK_TCK") / seconds for a, b in zip(had.split(), has.split())]
for pid, cpus in zip(map(int, pids.split()), share):
    got = dict(named).get(pid)
    if got is None:
        assert len(named) == 3 and min(c for _, c in named) > cpus - 0.15, "pid %d had %.2f CPUs: %s" % (pid, cpus, line)
    else:
        assert abs(got - cpus) < 0.3, "pid %d had %.2f CPUs: %s" % (pid, cpus, line)
assert float(re.search(r"had (\d+\.\d) of", line).group(1)) <= 2.1, line
PY
    echo "$ranks ranks: $advice"
done
