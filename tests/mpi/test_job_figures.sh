#!/bin/bash
# Three trainings one after the other in one process, each beside the same options in a process of its own: a job's processor
# seconds, peak memory, bytes sent and seconds by activity are its own. A large job stands before a small one, whose figures would be
# the large one's if they were the process's.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
program=$(dirname "$weft")/tests/mpi_jobs
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
[ -x "$program" ] || skip "no $program"
work_folder
export XDG_CACHE_HOME=$work/cache
"$weft" convert synth:quickstart,scale=0.1 --out store --quiet || fail "convert"

common="data=store threads=1 comm-thread=off calibrate=never ranks-per-node=2 partition=libra checkpoint-every=0 eval-every=5 spmm=rows"
small="model=sage hidden=8 epochs=5"
large="model=gcn hidden=512 epochs=10 trace=on"
printf '%s\n' "$common $large run-dir=in-0" "$common $small run-dir=in-1" "$common $large run-dir=in-2" >jobs
ranks 2 "$program" jobs >out 2>err || fail "three jobs: $(cat err)"
for i in 0 1 2; do
  words=$large
  [ $i -ne 1 ] || words=$small
  # shellcheck disable=SC2086
  ranks 2 "$weft" train $(printf -- '--%s ' $common $words) --run-dir "own-$i" >out 2>err || fail "job $i alone: $(cat err)"
done

python3 - <<'PY' || fail "figures of another job"
import json, os

def read(name):
    return json.load(open(name + "/summary.json"))

def spans(name):
    return [e for e in json.load(open(name + "/trace-0.json"))["traceEvents"] if e["ph"] == "X"]

inside, own = ([read("%s-%d" % (kind, i)) for i in range(3)] for kind in ("in", "own"))
for i, (a, b) in enumerate(zip(inside, own)):
    one, other = a["per_rank"], b["per_rank"]
    for r in range(2):
        assert one["epoch_sent_bytes"][r] == other["epoch_sent_bytes"][r], (i, "bytes sent in epochs")
        held, alone = one["allocated_peak_bytes"][r], other["allocated_peak_bytes"][r]
        assert abs(held - alone) < 0.02 * alone + 2e6, (i, "allocated at most", held, alone)
        resident, alone = one["peak_rss_bytes"][r], other["peak_rss_bytes"][r]
        assert abs(resident - alone) < 0.25 * alone + 16e6, (i, "resident at most", resident, alone)
        assert one["cpu_s"][r] < 1.05 * one["wall_s"][r] * 2 + 0.1, (i, "more processor time than time", one["cpu_s"][r])
    assert a["allocations_after_first_epoch"] == b["allocations_after_first_epoch"], i
# The process's counters only grow; the small job between two large ones shows that these do not.
for key in ("allocated_peak_bytes", "peak_rss_bytes", "cpu_s"):
    assert 1.3 * inside[1]["per_rank"][key][0] < inside[0]["per_rank"][key][0], (key, [s["per_rank"][key][0] for s in inside])
assert 0.5 < inside[2]["per_rank"]["cpu_s"][0] / inside[0]["per_rank"]["cpu_s"][0] < 2, "the second large job pays for the first"
first, second = spans("in-0"), spans("in-2")
assert max(e["ts"] for e in first) < min(e["ts"] for e in second), "a trace holds spans of another job"
assert 0.5 < len(first) / len(second) < 2, (len(first), len(second))
print("figures of three jobs are their own")
PY
