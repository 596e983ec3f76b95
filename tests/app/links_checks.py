"""Prediction of links once more in NumPy, from the draws on: parts of edges, negatives, ten steps of a GCN with Adam, and
scores. Modes: split STORE SEED A B C; train STORE RUN0 RUN dot|mlp|bpr [BATCH]; scores STORE RUN ...; see test_links.sh."""
import json
import sys

import numpy as np

LINKS, NEGATIVES, ORDER = 94, 95, 68
U64 = np.uint64


def philox(counter, key):
    """Philox4x32-10 of counters [4][n]; key: [n] or a number of 64 bits (Salmon et al., SC'11)."""
    c = [np.asarray(x, dtype=U64) & U64(0xFFFFFFFF) for x in counter]
    key = np.asarray(key, dtype=U64)
    k0, k1 = key & U64(0xFFFFFFFF), key >> U64(32)
    for _ in range(10):
        p0, p1 = U64(0xD2511F53) * c[0], U64(0xCD9E8D57) * c[2]
        c = [(p1 >> U64(32)) ^ c[1] ^ k0, p1 & U64(0xFFFFFFFF), (p0 >> U64(32)) ^ c[3] ^ k1, p0 & U64(0xFFFFFFFF)]
        k0, k1 = (k0 + U64(0x9E3779B9)) & U64(0xFFFFFFFF), (k1 + U64(0xBB67AE85)) & U64(0xFFFFFFFF)
    return c


def uniform(high, low):
    return (((high << U64(20)) | (low >> U64(12))).astype(np.float64) + 0.5) * 2.0**-52


def order_of(n, seed, epoch):
    """The order of n things in an epoch: a Feistel network of six rounds, values from n on sent through again."""
    half, walk = 1, np.arange(n, dtype=np.uint64)
    while 4**half < n:
        half += 1
    mask = U64(2**half - 1)
    words = philox([np.array([0, 1]), np.zeros(2), np.full(2, ORDER << 16), np.full(2, epoch)], seed)
    keys = [words[w][block] for block, w in ((0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1))]
    low = U64(0xFFFFFFFF)
    out = np.ones(n, bool)
    while out.any():
        left, right = (walk >> U64(half)) & mask, walk & mask
        for key in keys:
            x = right ^ key
            for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
                x = ((x ^ (x >> U64(shift))) * U64(factor)) & low
            left, right = right, left ^ (x & mask)
        walk = np.where(out, (left << U64(half)) | right, walk)
        out = walk >= n
    return walk.astype(np.int64)


class Links:
    """Links of a symmetric store, dealt by shares and a seed."""

    def __init__(self, store, shares=(0.85, 0.05, 0.10), seed=0, users=0):
        offset, source = np.load(store + "/offset.npy"), np.load(store + "/source.npy").astype(np.int64)
        self.n = len(offset) - 1
        self.x = np.load(store + "/feature.npy").astype(np.float64)
        row = np.repeat(np.arange(self.n), np.diff(offset))
        low, high = np.minimum(row, source), np.maximum(row, source)
        b = philox([low, high, np.full(len(row), LINKS << 16), np.zeros(len(row))], seed)
        at = uniform(b[0], b[1])
        part = np.where(at < shares[0], 0, np.where(at < shares[0] + shares[1], 1, 2))
        self.users = users
        anchor = low if users else np.where(b[2] & U64(1), low, high)
        mine = (anchor == row) & (row != source)
        self.row, self.source, self.part = row, source, part
        self.links = [np.stack([row[mine & (part == s)], source[mine & (part == s)]], 1) for s in range(3)]
        self.all = np.zeros((self.n, self.n), bool)
        self.all[row, source] = True
        self.known = np.zeros((self.n, self.n), bool)
        self.known[row[part == 0], source[part == 0]] = True

    def negatives(self, links, k, epoch, seed, known):
        """The other ends of negative number k of each link."""
        end = np.full(len(links), -1)
        for block in range(4):
            b = philox([links[:, 0], links[:, 1], np.full(len(links), (NEGATIVES << 16) | k), np.full(len(links), epoch)],
                       seed ^ (block << 40))
            for word in b:
                drawn = self.users + ((word * U64(self.n - self.users)) >> U64(32)).astype(np.int64)
                good = (end < 0) & (drawn != links[:, 0]) & (drawn != links[:, 1]) & ~known[links[:, 0], drawn]
                end[good] = drawn[good]
        assert (end >= 0).all()
        return end

    def propagation(self):
        a = np.zeros((self.n, self.n))
        a[self.row[self.part == 0], self.source[self.part == 0]] = 1.0
        np.fill_diagonal(a, 1.0)
        d = 1.0 / np.sqrt(a.sum(1))
        return d[:, None] * a * d[None, :]


def forward(s, x, w):
    h = s @ (x @ w["layer0.weight"]) + w["layer0.bias"]
    y = np.maximum(h, 0.0)
    return y, s @ (y @ w["layer1.weight"]) + w["layer1.bias"]


def decode(w, z, a, b):
    """Logits, and what backward needs."""
    p = z[a] * z[b]
    if "decoder0.weight" not in w:
        return p.sum(1), None
    h = np.maximum(p @ w["decoder0.weight"] + w["decoder0.bias"], 0.0)
    return (h @ w["decoder1.weight"] + w["decoder1.bias"])[:, 0], (p, h)


def gradients(s, x, w, pairs, target, links, bpr):
    """Loss and gradients; bpr: pairs are the links, then as many negatives for each."""
    y, z = forward(s, x, w)
    a, b = pairs[:, 0], pairs[:, 1]
    logit, kept = decode(w, z, a, b)
    if bpr:
        k = len(pairs) // links - 1
        difference = np.tile(logit[:links], k) - logit[links:]
        loss = np.log1p(np.exp(-difference)).mean()
        part = -1.0 / (1.0 + np.exp(difference)) / len(difference)
        g = np.concatenate([part.reshape(k, links).sum(0), -part])
    else:
        loss = (np.logaddexp(0.0, logit) - target * logit).mean()
        g = (1.0 / (1.0 + np.exp(-logit)) - target) / len(logit)
    grad, factor = {}, g[:, None]
    if kept is not None:
        p, h = kept
        grad["decoder1.weight"], grad["decoder1.bias"] = h.T @ g[:, None], g.sum(keepdims=True)
        dh = (g[:, None] @ w["decoder1.weight"].T) * (h > 0)
        grad["decoder0.weight"], grad["decoder0.bias"] = p.T @ dh, dh.sum(0)
        factor = dh @ w["decoder0.weight"].T
    dz = np.zeros_like(z)
    np.add.at(dz, a, factor * z[b])
    np.add.at(dz, b, factor * z[a])
    grad["layer1.weight"], grad["layer1.bias"] = y.T @ (s.T @ dz), dz.sum(0)
    dh = (s.T @ dz) @ w["layer1.weight"].T * (y > 0)
    grad["layer0.weight"], grad["layer0.bias"] = x.T @ (s.T @ dh), dh.sum(0)
    return loss, grad


def series(run, key):
    return [json.loads(line)[key] for line in open(run + "/metrics.jsonl") if '"loss"' in line]


def weights(run):
    return {k: v.astype(np.float64) for k, v in np.load(run + "/weights.npz").items()}


def check_training(store, first, run, how, batch=0):
    links, w = Links(store), weights(first)
    s, train, bpr = links.propagation(), links.links[0], how == "bpr"
    m, v = ({k: np.zeros_like(x) for k, x in w.items()} for _ in range(2))
    told, updates = series(run, "loss"), 0
    size = int(batch) or len(train)
    assert len(told) >= 10
    for epoch, loss in enumerate(told[:10], 1):
        order = order_of(len(train), 3, epoch) if int(batch) else np.arange(len(train))
        assert len(set(order)) == len(train)
        total = 0.0
        for begin in range(0, len(train), size):
            some = train[order[begin:begin + size]]
            drawn = [np.stack([some[:, 0], links.negatives(some, k, epoch, 3, links.known)], 1) for k in range(2)]
            pairs = np.concatenate([some] + drawn)
            target = np.r_[np.ones(len(some)), np.zeros(2 * len(some))]
            own, grad = gradients(s, links.x, w, pairs, target, len(some), bpr)
            total += own * len(some)
            updates += 1
            for k in w:
                m[k] = 0.9 * m[k] + 0.1 * grad[k].reshape(w[k].shape)
                v[k] = 0.999 * v[k] + 0.001 * grad[k].reshape(w[k].shape) ** 2
                w[k] = w[k] - 0.02 * (m[k] / (1 - 0.9**updates)) / (np.sqrt(v[k] / (1 - 0.999**updates)) + 1e-8)
        total /= len(train)
        assert abs(total - loss) < 1e-4 * abs(total), f"epoch {epoch}: {loss}, NumPy {total}"


def check_recommendation(store, first, run, users):
    """Ten steps of LightGCN over one-hot features with BPR, then recall and NDCG of the run's weights by brute force."""
    links, users = Links(store, (0.8, 0.0, 0.2), 0, int(users)), int(users)
    a = np.zeros((links.n, links.n))
    a[links.row[links.part == 0], links.source[links.part == 0]] = 1.0
    d = 1.0 / np.sqrt(np.maximum(a.sum(1), 1.0))
    s = d[:, None] * a * d[None, :]
    mean = (np.eye(links.n) + s + s @ s + s @ s @ s) / 4
    train, w = links.links[0], weights(first)["layer0.weight"]
    m, v = np.zeros_like(w), np.zeros_like(w)
    for epoch, told in enumerate(series(run, "loss")[:10], 1):
        item = links.negatives(train, 0, epoch, 3, links.known)
        z, u, i = mean @ w, train[:, 0], train[:, 1]
        difference = (z[u] * (z[i] - z[item])).sum(1)
        loss = np.log1p(np.exp(-difference)).mean()
        assert abs(loss - told) < 1e-4 * loss, f"step {epoch}: {told}, NumPy {loss}"
        g = (-1.0 / (1.0 + np.exp(difference)) / len(train))[:, None]
        dz = np.zeros_like(z)
        np.add.at(dz, u, g * (z[i] - z[item]))
        np.add.at(dz, i, g * z[u])
        np.add.at(dz, item, -g * z[u])
        grad = mean.T @ dz
        m, v = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad**2
        w = w - 0.02 * (m / (1 - 0.9**epoch)) / (np.sqrt(v / (1 - 0.999**epoch)) + 1e-8)
    end = weights(run)
    assert not end["layer0.bias"].any()
    z, recall, ndcg = mean @ end["layer0.weight"], [], []
    score = z[:users] @ z[users:].T
    score[links.known[:users, users:]] = -np.inf
    gain = 1 / np.log2(np.arange(2, 7))
    for u in np.unique(links.links[2][:, 0]):
        wanted = links.links[2][links.links[2][:, 0] == u, 1] - users
        hits = np.isin(np.argsort(-score[u], kind="stable")[:5], wanted)
        recall.append(hits.sum() / len(wanted))
        ndcg.append((hits * gain).sum() / gain[:len(wanted)].sum())
    facts = json.load(open(run + "/summary.json"))["facts"]
    told = next({row["key"]: row["value"] for row in group["rows"]} for group in facts if group["key"] == "recommendation")
    assert told["users"] == len(recall) and told["at"] == 5, told
    assert abs(told["recall"] - np.mean(recall)) < 1e-6 and abs(told["ndcg"] - np.mean(ndcg)) < 1e-6, (told, np.mean(recall))


def area(positive, negative):
    above = (positive[:, None] > negative[None, :]).mean()
    return above + 0.5 * (positive[:, None] == negative[None, :]).mean()


def check_scores(store, run, metric, own, at):
    """The scores of the run's best weights, by brute force over pairs."""
    links, w = Links(store), weights(run)
    _, z = forward(links.propagation(), links.x, w)
    summary = json.load(open(run + "/summary.json"))
    for split, name in ((1, "valid"), (2, "test")):
        some = links.links[split]
        positive = decode(w, z, some[:, 0], some[:, 1])[0]
        negative = np.stack([decode(w, z, some[:, 0], links.negatives(some, k, 0, 0, links.all))[0]
                             for k in range(max(own, 1))], 1)
        if metric == "rocauc":
            score = area(positive, negative.ravel())
        elif own:
            rank = 1 + (negative > positive[:, None]).sum(1) + 0.5 * (negative == positive[:, None]).sum(1)
            score = (1 / rank).mean() if metric == "mrr" else (rank <= at).mean()
        elif metric == "mrr":
            every = negative.ravel()[None, :]
            rank = 1 + (every > positive[:, None]).sum(1) + 0.5 * (every == positive[:, None]).sum(1)
            score = (1 / rank).mean()
        else:
            score = (positive > np.sort(negative.ravel())[-at]).mean()
        told = summary[name + "_mean"]
        assert abs(told - score) < 2e-3, f"{metric} of {name}: {told}, NumPy {score}"


def write_files(store, folder, own):
    """Links of valid and test in OGB's layout, with negatives that NumPy draws."""
    links, draw = Links(store), np.random.default_rng(5)
    for split, name in ((1, "valid"), (2, "test")):
        some = links.links[split]
        if own:
            np.savez(f"{folder}/{name}.npz", source_node=some[:, 0], target_node=some[:, 1],
                     target_node_neg=draw.integers(0, links.n, (len(some), own)))
        else:
            np.savez(f"{folder}/{name}.npz", edge=some, edge_neg=draw.integers(0, links.n, (3 * len(some), 2)))
    keep = links.part == 0
    np.savetxt(folder + "/edges.txt", np.stack([links.source[keep], links.row[keep]], 1), fmt="%d")
    np.save(folder + "/feature.npy", links.x.astype(np.float32))


def check_pairs(store, run, pairs, answers):
    links, w, asked = Links(store), weights(run), np.load(pairs)
    _, z = forward(links.propagation(), links.x, w)
    logit, told = decode(w, z, asked[:, 0], asked[:, 1])[0], np.load(answers + "/predictions.npy")[:, 0]
    assert np.abs(logit - told).max() < 1e-4 * max(1.0, np.abs(logit).max()), f"{told[:4]}, NumPy {logit[:4]}"


if __name__ == "__main__":
    mode, rest = sys.argv[1], sys.argv[2:]
    if mode == "train":
        check_training(*rest)
    elif mode == "scores":
        check_scores(rest[0], rest[1], rest[2], int(rest[3]), int(rest[4]))
    elif mode == "recommend":
        check_recommendation(*rest)
    elif mode == "bipartite":
        draw, users, items = np.random.default_rng(2), int(rest[0]), int(rest[1])
        joined = np.argwhere(draw.random((users, items)) < 0.15)
        np.savetxt(rest[2], joined + [0, users], fmt="%d")
    elif mode == "files":
        write_files(rest[0], rest[1], int(rest[2]))
    else:
        check_pairs(*rest)
