#!/bin/bash
# Folders in the layout of OGB's link property data sets, as they are downloaded, made here: ogbl-collab's (valid_neg that all links
# share, hits) and ogbl-citation2's (negatives of each link's own, MRR). Scores are OGB's evaluator's, once more in NumPy.
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need_numpy
need gzip
work_folder
python3 - <<'PY'
import gzip
import os

import numpy as np

rng = np.random.default_rng(1)
n, k = 240, 7
group = rng.integers(0, 6, n)


def drawn(count, alike=0.85):
    pairs = rng.integers(0, n, (20 * count, 2))
    good = (pairs[:, 0] != pairs[:, 1]) & ((group[pairs[:, 0]] == group[pairs[:, 1]]) == (rng.random(len(pairs)) < alike))
    return pairs[good][:count]


def table(path, rows, form):
    with gzip.open(path, "wt") as file:
        file.writelines(",".join(form % cell for cell in np.atleast_1d(row)) + "\n" for row in rows)


for name, split in (("collab", "time"), ("citation", "time")):
    for folder in ("raw", "split/" + split):
        os.makedirs("%s/%s" % (name, folder))
    links = drawn(2600)
    part = np.repeat([0, 1, 2], [2000, 300, 300])
    table(name + "/raw/edge.csv.gz", links[part == 0], "%d")
    table(name + "/raw/num-node-list.csv.gz", [n], "%d")
    table(name + "/raw/num-edge-list.csv.gz", [2000], "%d")
    table(name + "/raw/node-feat.csv.gz", rng.normal(size=(n, 6)) + 2 * np.eye(6)[group], "%.4f")
    for number, stem in ((1, "valid"), (2, "test")):
        some = links[part == number]
        if name == "collab":
            arrays = {"edge": some, "edge_neg": rng.integers(0, n, (400, 2)), "weight": np.ones(len(some)), "year": np.full(len(some), 2018)}
        else:
            arrays = {"source_node": some[:, 0], "target_node": some[:, 1], "target_node_neg": rng.integers(0, n, (len(some), k))}
        np.savez("%s/split/%s/%s.npz" % (name, split, stem), **arrays)
PY
for name in collab citation; do
    ok "$weft" convert $name --out $name.weft --symmetrize on
    grep -q "240 vertices" err || fail "$(cat err)"
done
rank=(--model sage --hidden 16 --embedding 16 --epochs 30 --eval-every 30 --lr 0.02 --threads 1 --quiet)
ok "$weft" train --data collab.weft --task link --links collab/split/time --decoder mlp --metric hits --hits-at 50 "${rank[@]}" --run-dir hits
ok "$weft" train --data citation.weft --task link --links citation/split/time --decoder mlp --metric mrr "${rank[@]}" --run-dir mrr
python3 - <<'PY' || fail "scores are not those of OGB's evaluator"
import json
import numpy as np


def logits(run):
    return np.load(run + "/predictions.npy").ravel().astype(np.float64)


def told(run, part):
    return json.load(open(run + "/summary.json"))["run_results"][0][part]


# eval_hits: the share of the positives above the K-th best negative. In predictions.npy valid, then test stand last.
scores = logits("hits")[-1400:]
for part, at in (("valid", 0), ("test", 700)):
    positive, negative = scores[at:at + 300], scores[at + 300:at + 700]
    assert abs(np.mean(positive > np.sort(negative)[-50]) - told("hits", part)) < 1e-6, part
# eval_mrr: the mean of the optimistic and the pessimistic rank, of each link among its own negatives.
scores = logits("mrr")[-2 * 300 * 8:].reshape(2, 300, 8)
for part, rows in zip(("valid", "test"), scores):
    positive, negative = rows[:, :1], rows[:, 1:]
    rank = 0.5 * ((negative > positive).sum(1) + (negative >= positive).sum(1)) + 1
    assert abs(np.mean(1 / rank) - told("mrr", part)) < 1e-6, (part, np.mean(1 / rank), told("mrr", part))
assert told("hits", "test") > 0.25 and told("mrr", "test") > 0.45  # chance: 50 of 400, and .34 among 8
PY
echo "ok"
