"""layouts.py: the layouts of public data sets, read and written with Python's standard library alone.

An oracle beside Weft's readers and writers: it shares no code with them.
    layouts.py compare STORE LAYOUT FOLDER   what the folder says must be what the store holds
    layouts.py proteins FOLDER               a small folder in the layout of ogbn-proteins, its expected features beside it
    layouts.py features STORE EXPECTED       feature.npy of the store against a JSON list of rows
    layouts.py proteins_of STORE FOLDER BACK what --to ogb-proteins wrote, and the store made of it
    layouts.py damage NPZ ARRAY INDEX VALUE  one element of a stored array replaced (with its checksum right again)
    layouts.py drop NPZ ARRAY                an array left out
"""
import ast
import glob
import gzip
import json
import math
import random
import struct
import sys
import zipfile

CODES = {"<i8": "q", "<i4": "i", "<f4": "f", "<f8": "d", "|u1": "B", "|b1": "?"}


def parse_npy(data):
    """(header bytes, descr, shape, values as a flat list) of a .npy image."""
    assert data[:6] == b"\x93NUMPY" and data[6] == 1
    start = 10 + int.from_bytes(data[8:10], "little")
    facts = ast.literal_eval(data[10:start].decode())
    assert not facts["fortran_order"]
    if facts["descr"].startswith("|S"):
        return data[:start], facts["descr"], facts["shape"], data[start:]
    count = math.prod(facts["shape"])
    return data[:start], facts["descr"], facts["shape"], list(
        struct.unpack(f"<{count}{CODES[facts['descr']]}", data[start:]))


def load_npy(path):
    with open(path, "rb") as stream:
        return parse_npy(stream.read())[2:]


def load_npz(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name[:-4]: parse_npy(archive.read(name))[2:] for name in archive.namelist()}


def load_store(path):
    offset = load_npy(f"{path}/offset.npy")[1]
    source = load_npy(f"{path}/source.npy")[1]
    rows = range(len(offset) - 1)
    return {
        "n": len(offset) - 1,
        "edges": sorted((u, v) for v in rows for u in source[offset[v]:offset[v + 1]]),
        "feature": load_npy(f"{path}/feature.npy"),
        "label": load_npy(f"{path}/label.npy")[1],
        "split": load_npy(f"{path}/split.npy")[1],
    }


def load_csv(path, convert):
    with gzip.open(path, "rt") as stream:
        return [tuple(convert(field) for field in line.split(",")) for line in stream]


def as_float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def both_ways(edges):
    return sorted(set(edges) | {(v, u) for u, v in edges})


def split_of(n, lists):
    split = [255] * n
    for part, members in enumerate(lists):
        for v in members:
            assert split[v] == 255
            split[v] = part
    return split


def ogb_split(folder, n):
    (where,) = glob.glob(f"{folder}/split/*")
    return split_of(n, [[row[0] for row in load_csv(f"{where}/{part}.csv.gz", int)] for part in ("train", "valid", "test")])


def read_ogb(folder):
    ((n,),) = load_csv(f"{folder}/raw/num-node-list.csv.gz", int)
    ((e,),) = load_csv(f"{folder}/raw/num-edge-list.csv.gz", int)
    edges = load_csv(f"{folder}/raw/edge.csv.gz", int)
    assert len(edges) == e and len(set(edges)) == e
    assert len({frozenset(edge) for edge in edges}) == e, "an undirected edge is listed twice"
    features = load_csv(f"{folder}/raw/node-feat.csv.gz", float)
    labels = load_csv(f"{folder}/raw/node-label.csv.gz", float)
    assert len(load_csv(f"{folder}/raw/node_year.csv.gz", int)) == n
    return {
        "n": n,
        "edges": both_ways(edges),
        "feature": ((n, len(features[0])), [as_float32(x) for row in features for x in row]),
        "label": [-1 if math.isnan(x) else int(x) for (x,) in labels],
        "split": ogb_split(folder, n),
    }


def read_ogb_binary(folder):
    data = load_npz(f"{folder}/raw/data.npz")
    (labels,) = load_npz(f"{folder}/raw/node-label.npz").values()
    n = data["num_nodes_list"][1][0]
    (two, e), ends = data["edge_index"]
    assert two == 2 and data["num_edges_list"] == ((1,), [e]) and labels[0] == (n, 1) and data["node_year"][0] == (n, 1)
    return {
        "n": n,
        "edges": sorted(zip(ends[:e], ends[e:])),
        "feature": data["node_feat"],
        "label": [-1 if math.isnan(x) else int(x) for x in labels[1]],
        "split": ogb_split(folder, n),
    }


def read_dgl_reddit(folder):
    graph = load_npz(f"{folder}/reddit_graph.npz")
    data = load_npz(f"{folder}/reddit_data.npz")
    n = graph["shape"][1][0]
    assert graph["format"] == ((), b"coo") and graph["shape"][1] == [n, n] and data["node_ids"][1] == list(range(n))
    assert graph["data"][1] == [1.0] * len(graph["row"][1])
    return {
        "n": n,
        "edges": sorted(zip(graph["row"][1], graph["col"][1])),
        "feature": data["feature"],
        "label": data["label"][1],
        "split": [255 if kind == 0 else kind - 1 for kind in data["node_types"][1]],
    }


def csr_edges(path):
    m = load_npz(path)
    indptr, indices = m["indptr"][1], m["indices"][1]
    assert m["format"] == ((), b"csr") and len(m["data"][1]) == len(indices) == indptr[-1]
    return sorted((u, v) for u in range(len(indptr) - 1) for v in indices[indptr[u]:indptr[u + 1]])


def read_graphsaint(folder):
    with open(f"{folder}/class_map.json") as stream:
        classes = json.load(stream)
    with open(f"{folder}/role.json") as stream:
        roles = json.load(stream)
    feature = load_npy(f"{folder}/feats.npy")
    n = feature[0][0]
    edges = csr_edges(f"{folder}/adj_full.npz")
    training = set(roles["tr"])
    assert csr_edges(f"{folder}/adj_train.npz") == [(u, v) for u, v in edges if u in training and v in training]
    return {
        "n": n,
        "edges": edges,
        "feature": feature,
        "label": [classes.get(str(v), -1) for v in range(n)],
        "split": split_of(n, [roles["tr"], roles["va"], roles["te"]]),
    }


def compare(store, layout, folder):
    reader = {"ogb": read_ogb, "ogb-binary": read_ogb_binary, "dgl-reddit": read_dgl_reddit, "graphsaint": read_graphsaint}
    expected, found = load_store(store), reader[layout](folder)
    for key in expected:
        assert expected[key] == found[key], f"{layout}: {key} differs"
    print(f"{layout}: {found['n']} vertices, {len(found['edges'])} edges agree")


def put_csv(path, rows):
    with gzip.open(path, "wt") as stream:
        for row in rows:
            stream.write(",".join(map(str, row)) + "\n")


def proteins(folder):
    """Edges once, no features of vertices, eight of edges, five binary tasks, some unknown; vertex 29 has no edge."""
    rng = random.Random(5)
    n = 30
    edges = sorted({tuple(rng.sample(range(n - 1), 2)) for _ in range(60)})
    edges = [(u, v) for u, v in edges if u < v or (v, u) not in edges]
    weight = [[rng.randint(0, 1000) / 1000 for _ in range(8)] for _ in edges]
    task = [[rng.choice([0, 1, "nan"]) for _ in range(5)] for _ in range(n)]
    put_csv(f"{folder}/raw/num-node-list.csv.gz", [[n]])
    put_csv(f"{folder}/raw/num-edge-list.csv.gz", [[len(edges)]])
    put_csv(f"{folder}/raw/edge.csv.gz", edges)
    put_csv(f"{folder}/raw/edge-feat.csv.gz", weight)
    put_csv(f"{folder}/raw/node-label.csv.gz", task)
    put_csv(f"{folder}/raw/node_species.csv.gz", [[9606]] * n)
    for i, part in enumerate(("train", "valid", "test")):
        put_csv(f"{folder}/split/species/{part}.csv.gz", [[v] for v in range(10 * i, 10 * i + 10)])
    mean = []
    for v in range(n):
        mine = [w for edge, w in zip(edges, weight) if v in edge]
        mean.append([sum(column) / len(mine) for column in zip(*mine)] if mine else [0.0] * 8)
    with open(f"{folder}.expected", "w") as stream:
        json.dump({"feature": mean, "edges": both_ways(edges), "task": task}, stream)


def features(store, expected):
    with open(expected) as stream:
        facts = json.load(stream)
    (n, f), values = load_npy(f"{store}/feature.npy")
    assert (n, f) == (len(facts["feature"]), 8)
    for v in range(n):
        for c in range(f):
            assert abs(values[v * f + c] - facts["feature"][v][c]) < 1e-6, (v, c)
    offset, source = load_npy(f"{store}/offset.npy")[1], load_npy(f"{store}/source.npy")[1]
    assert sorted([u, v] for v in range(n) for u in source[offset[v]:offset[v + 1]]) == facts["edges"]
    shape, target = load_npy(f"{store}/target.npy")
    assert shape == (n, 5)
    for got, known in zip(target, (t for row in facts["task"] for t in row)):
        assert math.isnan(got) if known == "nan" else got == known


def proteins_of(store, folder, back):
    """What `weft convert STORE --to ogb-proteins` wrote, and the store made of it again, against the definition."""
    graph = load_store(store)
    n, (_, f) = graph["n"], graph["feature"][0]
    x = [graph["feature"][1][v * f:v * f + f] for v in range(n)]
    edges = load_csv(f"{folder}/raw/edge.csv.gz", int)
    weight = load_csv(f"{folder}/raw/edge-feat.csv.gz", float)
    assert both_ways(edges) == graph["edges"] and len(weight) == len(edges)
    total, count = [[0.0] * 8 for _ in range(n)], [0] * n
    for (u, v), row in zip(edges, weight):
        for c in range(8):
            assert abs(row[c] - (x[u][c % f] + x[v][c % f]) / 2) < 1e-5, (u, v, c)
            total[u][c] += row[c]
            total[v][c] += row[c]
        count[u] += 1
        count[v] += 1
    (rows, columns), got = load_npy(f"{back}/feature.npy")
    assert (rows, columns) == (n, 8)
    for v in range(n):
        for c in range(8):
            assert abs(got[v * 8 + c] - total[v][c] / max(count[v], 1)) < 1e-5, (v, c)
    (_, tasks), target = load_npy(f"{back}/target.npy")
    for v in range(n):
        assert target[v * tasks:v * tasks + tasks] == [float(c == graph["label"][v]) for c in range(tasks)], v
    assert [row[0] for row in load_csv(f"{folder}/raw/node_species.csv.gz", int)] == [
        3702 + min(part, 3) for part in graph["split"]]


def rewrite(path, change):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def damage(path, name, index, value):
    def change(members):
        header, descr, _, values = parse_npy(members[name + ".npy"])
        if descr.startswith("|S"):
            members[name + ".npy"] = header + value.encode()
            return
        values[int(index)] = float(value) if descr[1] == "f" else int(value)
        members[name + ".npy"] = header + struct.pack(f"<{len(values)}{CODES[descr]}", *values)

    rewrite(path, change)


def drop(path, name):
    rewrite(path, lambda members: members.pop(name + ".npy"))


{f.__name__: f for f in (compare, proteins, proteins_of, features, damage, drop)}[sys.argv[1]](*sys.argv[2:])
