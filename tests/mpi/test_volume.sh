#!/bin/bash
# Bytes and messages that every rank really sends, counted by Open MPI's monitoring, against the closed form of each
# algorithm and against our own counters; and the bytes that leave and enter a node against the predicted ones. What
# setting up sends is subtracted: a run that plans everything and posts nothing.
# needs: mpirun
# timeout: 600
set -u
. "$2/tests/support/script.sh"
program=$(dirname "$1")/tests/mpi_volume
need mpirun
[ -x "$program" ] || skip "no $program"
ompi_info --param pml monitoring --level 9 2>/dev/null | grep -q pml_monitoring_enable ||
    skip "this MPI library has no pml_monitoring"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 - "$program" "$work" <<'PYTHON'
import collections
import os
import re
import subprocess
import sys

program, work = sys.argv[1:3]
WIDTH, SHORT = 6, 840
FLAT = ("recursive-doubling", "halving-doubling", "ring", "fixed-order")
HIERARCHICAL = ("two-level", "master")
BYTES = {"float32": 4, "bf16": 2, "fp16": 2}
Case = collections.namedtuple("Case", "kind nodes half wire count runs bytes messages link no_memory")


def run(ranks, kind="any", nodes="any", half="any", wire="any", times=1):
    """-> ([{peer: (bytes, messages)}] as Open MPI saw them, [[Case]] as the program counted them), by rank."""
    name = os.path.join(work, f"{kind}-{nodes}-{half}-{wire}-{times}-{ranks}")
    out = subprocess.run(
        ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks),
         "--mca", "osc", "^monitoring", "--mca", "pml_monitoring_enable", "1", "--mca", "pml_monitoring_enable_output", "3",
         "--mca", "pml_monitoring_filename", name, program, kind, str(nodes), half, wire, str(times), name + ".forms"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if out.returncode != 0:
        sys.exit(f"{name} ends with {out.returncode}:\n{out.stdout}")
    seen, counted = [], []
    for rank in range(ranks):
        with open(f"{name}.{rank}.prof", encoding="utf-8") as stream:
            lines = re.findall(r"^E\t\d+\t(\d+)\t(\d+) bytes\t(\d+) msgs sent", stream.read(), re.M)
        seen.append({int(peer): (int(b), int(m)) for peer, b, m in lines})
        with open(f"{name}.forms.{rank}", encoding="utf-8") as stream:
            rows = [line.split() for line in stream]
        counted.append([Case(r[0], int(r[1]), r[2], r[3], *map(int, r[4:])) for r in rows])
    return seen, counted


# ---- closed forms: (bytes, messages) of one rank in one operation -------------------------------------------------------
def both(half, scatter, gather):
    parts = {"whole": (scatter, gather), "reduce-scatter": (scatter,), "all-gather": (gather,)}[half]
    return tuple(sum(x) for x in zip(*parts))


def direct(rank, size, owners, count, half, e):
    """Everybody's slices straight to their owners; the owners' straight to everybody."""
    own = count // owners if rank < owners else 0
    return both(half, ((count - own) * e, owners - (rank < owners)),
                ((size - 1) * own * e, size - 1 if rank < owners else 0))


def flat(kind, rank, P, count, half, e):
    M = count * e
    if P == 1:
        return 0, 0
    if kind == "fixed-order":
        return direct(rank, P, P, count, half, e)
    if kind == "ring":
        return both(half, ((P - 1) * M // P, P - 1), ((P - 1) * M // P, P - 1))
    steps = P.bit_length() - 1
    p = 1 << steps
    folded = rank < 2 * (P - p)
    if folded and rank % 2 == 0:
        return both(half, (M, 1), (0, 0))
    if kind == "recursive-doubling":
        return (steps + folded) * M, steps + folded
    return both(half, ((p - 1) * M // p, steps), ((p - 1) * M // p + folded * M, steps + folded))


def between(nodes, count, half, wire):
    """What a hierarchical algorithm runs between so many nodes."""
    if wire != "float32":
        return "fixed-order"
    if count <= SHORT:
        return "recursive-doubling" if half == "whole" else "halving-doubling"
    return "ring" if nodes & (nodes - 1) else "halving-doubling"


def shares(case, rank, P):
    """Ragged shares: with memory of the node, or nodes of one rank, a share crosses to every other node once."""
    count = [0 if r % 3 == 1 else 11 * r + 1 for r in range(P)]
    node = [r // case.nodes for r in range(P)]
    m = node[-1] + 1
    memory = not case.no_memory or m == P
    if case.kind == "share-bcast":
        root = P // 2
        leads = rank == root if node[rank] == node[root] else rank % case.nodes == 0
        size, number = (m, (node[rank] - node[root]) % m) if memory else (P, (rank - root) % P)
        children = sum(number % (2 << k) == 0 and number + (1 << k) < size for k in range(8)) if leads or not memory else 0
        children *= count[root] > 0
        return 4 * children * count[root], children
    if case.kind == "share-gather" and memory:
        return 4 * (m - 1) * count[rank], (m - 1) * (count[rank] > 0)
    if case.kind == "share-gather":
        sent = [c for r, c in enumerate(count) if r != (rank + 1) % P]
    else:
        sent = [c for r, c in enumerate(count) if (node[r] != node[rank] if memory else r != rank)]
    return 4 * sum(sent), sum(c > 0 for c in sent)


def closed_form(case, rank, P):
    if case.kind.startswith("share-"):
        return shares(case, rank, P)
    if case.kind == "halo":
        return 4 * WIDTH * (rank + 1), case.no_memory
    e = BYTES[case.wire]
    if case.kind in FLAT:
        return flat(case.kind, rank, P, case.count, case.half, e)
    m = -(-P // case.nodes)
    node, local = divmod(rank, case.nodes)
    n = min(case.nodes, P - node * case.nodes)
    inner = between(m, case.count, case.half, case.wire)
    if case.kind == "master":
        children = sum(1 for k in range(8) if 1 << k < n and local % (2 << k) == 0 and local + (1 << k) < n)
        inside = ((local > 0) + children) * 4 * case.count, (local > 0) + children
        return both("whole", inside, flat(inner, node, m, case.count, "whole", e) if local == 0 else (0, 0))
    shards = P - (m - 1) * case.nodes
    inside = direct(local, n, shards, case.count, case.half, 4) if case.no_memory else (0, 0)
    across = flat(inner, node, m, case.count // shards, case.half, e) if local < shards else (0, 0)
    return both("whole", inside, across)


# ---- the comparison -------------------------------------------------------------------------------------------------------
failures = 0


def fail(text):
    global failures
    failures += 1
    if failures < 20:
        print(text)


def check(ranks, seen, baseline, counted):
    for rank in range(ranks):
        total = (0, 0)
        for case in counted[rank]:
            expected = tuple(case.runs * x for x in closed_form(case, rank, ranks)) if case.runs else (0, 0)
            if case.kind != "halo" or case.no_memory:  # rows in shared memory are sent, but not over the wire
                total = (total[0] + expected[0], total[1] + expected[1])
            if (case.bytes, case.messages) != expected:
                fail(f"rank {rank} of {ranks}: {case}: expected {expected}")
        wire = [sum(seen[rank].get(q, (0, 0))[i] - baseline[rank].get(q, (0, 0))[i] for q in range(ranks)) for i in (0, 1)]
        if tuple(wire) != total:
            fail(f"rank {rank} of {ranks}: on the wire {wire}, closed forms {total}, of {counted[rank][:1]}...")


def check_link(ranks, nodes, seen, baseline, cases):
    """The busiest node's network link, where all nodes are alike."""
    def crossing(node, out):
        inside = range(node * nodes, (node + 1) * nodes)
        pairs = [(a, b) if out else (b, a) for a in inside for b in range(ranks) if b not in inside]
        return sum(seen[a].get(b, (0, 0))[0] - baseline[a].get(b, (0, 0))[0] for a, b in pairs)
    busiest = max(crossing(node, out) for node in range(ranks // nodes) for out in (True, False))
    predicted = sum(case.runs * case.link for case in cases)
    if busiest != predicted:
        fail(f"{cases[0].kind} on {ranks} ranks: {busiest} bytes through a node's link, predicted {predicted}")
    return busiest


for ranks in (2, 3, 4, 8):  # 3 is no power of 2, and nodes of 3 leave 8 a smaller one
    baseline, nothing = run(ranks, "none")
    if any(case.bytes or case.messages for rank in nothing for case in rank):
        sys.exit(f"the baseline counts {nothing}")
    seen, counted = run(ranks)
    check(ranks, seen, baseline, counted)
    ran = sum(case.runs > 0 for case in counted[0])
    if ran < 280:
        fail(f"only {ran} forms ran on {ranks} ranks")
    print(f"{ran} forms on {ranks} ranks: bytes and messages of every rank")
    for kind in {4: FLAT, 8: HIERARCHICAL}.get(ranks, ()):
        seen, counted = run(ranks, kind, 2, "whole", "float32")
        check(ranks, seen, baseline, counted)
        ran = [case for case in counted[0] if case.runs > 0]
        if not ran:
            fail(f"{kind} did not run on {ranks} ranks")
            continue
        busiest = check_link(ranks, 2, seen, baseline, ran)
        print(f"{kind} on {ranks} ranks, 2 a node: {busiest} bytes through the busiest node's link")
print(f"{failures} differences")
sys.exit(1 if failures else 0)
PYTHON
