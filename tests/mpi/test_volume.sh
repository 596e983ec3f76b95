#!/bin/bash
# Bytes and messages that every rank really sends, counted by Open MPI's monitoring, against the closed form of each
# algorithm and against our own counters. What setting up sends is subtracted: a run with zero operations.
# needs: mpirun
# timeout: 300
set -u
program=$(dirname "$1")/tests/mpi_volume
if ! command -v mpirun >/dev/null || [ ! -x "$program" ]; then
    echo "skipped: no mpirun or no $program"
    exit 77
fi
if ! ompi_info --param pml monitoring --level 9 2>/dev/null | grep -q pml_monitoring_enable; then
    echo "skipped: this MPI library has no pml_monitoring"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 - "$program" "$work" <<'PYTHON'
import os
import re
import subprocess
import sys

program, work = sys.argv[1:3]
COUNT, TIMES, WIDTH = 840, 10, 6  # 840 is divisible by 2, 3, 4, 7 and 8
M = 4 * COUNT


def run(ranks, kind, times):
    """-> ([(bytes, messages)] as Open MPI saw them, the same as the program counted them), by rank."""
    name = os.path.join(work, f"{kind}-{ranks}-{times}")
    out = subprocess.run(
        ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks),
         "--mca", "pml_monitoring_enable", "1", "--mca", "pml_monitoring_enable_output", "3",
         "--mca", "pml_monitoring_filename", name, program, kind, str(COUNT), str(times)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if out.returncode != 0:
        sys.exit(f"{kind} on {ranks} ranks ends with {out.returncode}:\n{out.stdout}")
    counted = {int(r): (int(b), int(m)) for r, b, m in re.findall(r"counted (\d+) (\d+) (\d+)", out.stdout)}
    seen = []
    for rank in range(ranks):
        with open(f"{name}.{rank}.prof", encoding="utf-8") as stream:
            lines = re.findall(r"^E\t\d+\t\d+\t(\d+) bytes\t(\d+) msgs sent", stream.read(), re.M)
        seen.append((sum(int(b) for b, _ in lines), sum(int(m) for _, m in lines)))
    return seen, [counted[r] for r in range(ranks)]


def closed_form(kind, rank, P):
    """Bytes and messages of one operation."""
    if kind == "halo":
        return 4 * WIDTH * (rank + 1), 1
    if kind in ("ring", "fixed-order"):
        return 2 * (P - 1) * M // P, 2 * (P - 1)
    steps = P.bit_length() - 1
    p = 1 << steps
    folded = rank < 2 * (P - p)
    if folded and rank % 2 == 0:
        return M, 1
    if kind == "recursive-doubling":
        return (steps + folded) * M, steps + folded
    return 2 * (p - 1) * M // p + folded * M, 2 * steps + folded


failures = 0
for ranks in (2, 3, 4, 7, 8):
    baseline, nothing = run(ranks, "none", 0)
    if any(n != (0, 0) for n in nothing):
        sys.exit(f"the baseline counts {nothing}")
    for kind in ("recursive-doubling", "halving-doubling", "ring", "fixed-order", "halo"):
        seen, counted = run(ranks, kind, TIMES)
        for rank in range(ranks):
            wire = tuple(a - b for a, b in zip(seen[rank], baseline[rank]))
            expected = tuple(TIMES * x for x in closed_form(kind, rank, ranks))
            if not wire == expected == counted[rank]:
                failures += 1
                print(f"{kind}, rank {rank} of {ranks}: wire {wire}, closed form {expected}, counted {counted[rank]}")
        print(f"{kind} on {ranks} ranks: (bytes, messages) of rank 0 in {TIMES} operations: {counted[0]}")
sys.exit(1 if failures else 0)
PYTHON
