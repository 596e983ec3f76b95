"""The subjects of bench/measure: what each runs, and the table that it makes of the samples.

A subject is a function of a Job. It returns {"columns": [...], "rows": [[...], ...], "shown": how many of its commands stand on the
page, because the others are alike}. A cell is text, a number, None, or quartiles with their samples (measuring.quartiles); a column
says how its cells are written (bench/tables.py). Programs that check their results give no rate for a wrong one: a subject raises
Failed then, or notes the failure and goes on with its other rows.
"""
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys

import measuring
from measuring import Failed, quartiles, read_json, read_lines, take_turns

PLAIN = ["--recipe", "default", "--norm", "none", "--normalize", "none", "--layers", "2"]
LEAN = ["--eval-every", "0", "--checkpoint-every", "0"]
MB = 1e6


class Job:
    """One subject's run: the program, a folder for stores and runs, and the commands as a user would type them."""

    def __init__(self, weft, work, quick, threads=2):
        self.weft, self.work, self.quick, self.threads = weft, work, quick, threads
        self.commands, self.failures, self.versions = [], [], {}

    def pick(self, full, quick):
        return quick if self.quick else full

    def plain(self, words):
        text = shlex.join(str(word) for word in words)
        for path, short in ((self.weft, "weft"), (self.work, "build/measure"), (measuring.ROOT + "/", "")):
            text = text.replace(path, short)
        return text

    def show(self, words):
        """Notes a command for the page, once."""
        text = self.plain(words)
        if text not in self.commands:
            self.commands.append(text)

    def script(self, name, words, hidden, python=sys.executable):
        """What a script of bench/ prints with --json; the page does not show its hidden words."""
        command = [os.path.join(measuring.BENCH, name), *words]
        self.show(command)
        peers = ["env", "WEFT_PEERS_VENV=" + measuring.VENV, "WEFT_PEERS_XGBOOST=" + os.environ.get("WEFT_PEERS_XGBOOST", "")]
        return json.loads(measuring.run([*peers, python, *command, *hidden, "--json"], self.threads).stdout)

    def store(self, name, spec):
        """The graph store, which is made on first use and kept for later subjects."""
        name += self.pick("", "-quick")
        path = os.path.join(self.work, name)
        self.show([self.weft, "convert", spec, "--out", path])
        if not os.path.exists(os.path.join(path, "manifest.json")):
            measuring.run([self.weft, "convert", spec, "--out", path, "--force"])
        return path

    def reddit(self):
        return self.store("reddit", self.pick("synth:reddit", "synth:reddit,scale=0.01"))

    def forum(self):
        """Posts joined by a common user, which is how Reddit's graph was made."""
        return self.store("forum", self.pick("synth:forum", "synth:forum,scale=0.02"))

    def reddit_random(self):
        return self.store("reddit-random", "synth:reddit,sorted=0,f=16" + self.pick("", ",scale=0.02"))

    def train(self, words, launch=()):
        """-> (lines of metrics.jsonl, summary.json) of a training"""
        folder = os.path.join(self.work, "run")
        shutil.rmtree(folder, ignore_errors=True)
        command = [*launch, self.weft, "train", *words]
        self.show(command)
        measuring.run([*command, "--run-dir", folder, "--quiet"], None if launch else self.threads)
        return read_lines(os.path.join(folder, "metrics.jsonl")), read_json(os.path.join(folder, "summary.json"))

    def peers(self, store, words):
        """peers.json of bench/peers/run; cases that failed are noted as failures of the subject."""
        command = [os.path.join(measuring.BENCH, "peers", "run"), store, "--threads", self.threads, *words]
        self.show(command)
        out = os.path.join(self.work, "peers")
        shutil.rmtree(out, ignore_errors=True)
        command = [str(word) for word in command] + ["--weft", self.weft, "--out", out]
        with measuring.told(command):
            done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if not os.path.exists(os.path.join(out, "peers.json")):
            raise Failed(f"bench/peers/run: exit {done.returncode}")
        found = read_json(os.path.join(out, "peers.json"))
        self.failures += [f"{failure['case']}: {failure['message']}" for failure in found["failures"]]
        self.versions.update(found["versions"])
        return found

    def bench_comm(self, words, rounds):
        """Rows of `weft bench comm` on two ranks: [(row of the first round, [that row of each round])]."""
        command = [*measuring.mpirun(2), self.weft, "bench", "comm", *words, "--threads", "1", "--calibrate", "always"]
        self.show(command)
        runs = [json.loads(measuring.run([*command, "--format", "json"], 1).stdout) for _ in range(rounds)]
        self.versions["MPI"] = runs[0]["mpi"]
        return [(rows[0], rows) for rows in zip(*(run["rows"] for run in runs))]


def column(head, **how):
    return {"head": head, **how}


def table(columns, rows, shown=None):
    return {"columns": columns, "rows": rows, "shown": shown}


def of(rows, key):
    return quartiles(row[key] for row in rows)


# ---- graphs ---------------------------------------------------------------------------------------------------------
CASES = {"sage16": "SAGE 2x16", "gcn16": "GCN 2x16", "sage256": "SAGE 2x256", "gat8x8": "GAT 2x(8x8)", "gatv2_8x8": "GATv2 2x(8x8)"}


def epochs(job):
    small = job.store("reddit-small", "synth:reddit,scale=0.03") if not job.quick else job.reddit()
    return epochs_beside(job, [(job.reddit(), "sage16,gcn16", 2, 4, 5, ""), (job.reddit(), "sage256", 2, 1, 2, ""),
                               (small, "gat8x8", 2, 2, 3, ", 3 % of the graph")])


def forum_epochs(job):
    return epochs_beside(job, [(job.forum(), "sage16,gcn16", 2, 3, 2, "")])


def epochs_beside(job, plans):
    rows = []
    for store, cases, rounds, count, losses, note in plans:
        found = job.peers(store, ["--dims", "", "--cases", cases, "--epoch-peers", "dgl", "--rounds", job.pick(rounds, 1),
                                  "--epochs", count, "--loss-epochs", losses])
        for row in found["epochs"]:
            if not row["agree"]:
                job.failures.append(f"{row['case']}: losses differ by {row['loss_distance']:.1e}")
            rows.append([CASES[row["case"]] + note, row.get("peer_seconds"), row.get("weft_seconds"), row["ratio"], row["memory_ratio"],
                         row["loss_distance"]])
    return table([column("model"), column("DGL s"), column("Weft s"), column("DGL / Weft"), column("memory, Weft / DGL"),
                  column("losses differ by", format=".0e")], rows)


def sums(job):
    return sums_beside(job, [(job.reddit(), "64,256", "communities", "")])


def forum_sums(job):
    """The first run finds what rows share, which is kept in the store."""
    return sums_beside(job, [(job.forum(), "16,64,256", "posts joined by users", "")])


def i16_sums(job):
    return sums_beside(job, [(job.reddit(), "16,64,256", "communities", "--forms i16"),
                             (job.reddit_random(), "64", "random order", "--forms i16")])


def sums_beside(job, plans):
    rows = []
    for store, widths, graph, options in plans:
        found = job.peers(store, ["--dims", widths, "--cases", "", "--rounds", job.pick(2, 1), "--repeats", 2,
                                  *(["--weft-spmm", options] if options else [])])
        job.failures += [f"{graph}: a sum of width {row['d']} was wrong" for row in found["spmm"] if row["ratio"] is None]
        rows += [[graph, str(row["d"]), row["peer_seconds"], row.get("weft_seconds"), row["ratio"],
                  row["weft_detail"].get("percent_of_limit")] for row in found["spmm"]]
    return table([column("graph"), column("d"), column("DGL s"), column("Weft s"), column("DGL / Weft"), column("% of the limit")], rows)


# Neighbours tell communities apart, and the features of a vertex tell nothing.
RANDOM = "synth:community,n=233000,e=84700000,classes=41,communities=41,p-in=0.85,f=602,signal=0,train=0.66,valid=0.1"
# A graph has a spec and a smaller one for --quick, a target and a lower one, a width, rounds, and batches between two
# evaluations of the peer.
TO_ACCURACY = {"quickstart": ("synth:quickstart", "synth:quickstart,scale=0.05", 0.98, 0.5, 64, 2, 10),
               "Reddit-size": ("synth:reddit", None, 0.98, None, 256, 1, 10),
               "random features, 84.7 M edges": (RANDOM, None, 0.999, None, 256, 1, 75),
               "products-size": ("synth:products", None, 0.98, None, 64, 1, 10)}


def seconds_to_accuracy(job):
    rows = []
    for name, (spec, small, target, least, hidden, rounds, batches) in TO_ACCURACY.items():
        if job.quick and small is None:
            continue
        store = job.store(re.split("[- ]", name)[0].lower(), job.pick(spec, small))
        target = job.pick(target, least)
        found = job.peers(store, ["--to-accuracy", target, "--sampled", "10,10", "--hidden", hidden, "--rounds", job.pick(rounds, 1),
                                  "--most-epochs", 60, "--eval-batches", batches, "--weft-train", "", "--weft-train=--recipe fast"])
        for row in found["to_accuracy"]:
            figures = [row.get(key, "not reached") for key in ("peer_seconds", "peer_epochs", "weft_seconds", "weft_epochs")]
            rows.append([f"{name}, 2x{hidden}, {100 * target:g} %", row["weft_train"], *figures, row["ratio"]])
    return table([column("graph, GraphSAGE, test accuracy"), column("Weft trains by"), column("DGL, sampled, s"), column("epochs"),
                  column("Weft s"), column("epochs"), column("DGL / Weft")], rows, shown=1)


def partition(job):
    measuring.run(["cmake", "--build", os.path.dirname(job.weft), "--target", "partition_rules"])
    words = [job.reddit_random(), "--parts", "16", "--methods", "ne,stream,expand", "--rounds", job.pick(2, 1)]
    found = job.script("partition", words, ["--weft", job.weft])
    rows = [[str(row["parts"]), row["method"], row["replication_factor"], row["vertex_balance"], row["largest"], row["seconds"]]
            for row in found]
    return table([column("parts"), column("method"), column("replication factor"), column("vertex balance"), column("largest"),
                  column("s")], rows)


def memory(job):
    plain = [*PLAIN, "--input-dropout", "0.5", "--epochs", "3", "--eval-every", "0"]
    cases = {"SAGE 2x16": ["sage", "16"], "SAGE 2x256": ["sage", "256"], "GCN 2x16": ["gcn", "16"],
             "GCN 2x16, `--last-layer whole`": ["gcn", "16", "--last-layer", "whole"]}
    rows = []
    for name, (model, hidden, *more) in cases.items():
        words = ["--data", job.reddit(), "--model", model, "--hidden", hidden, *plain, *more]
        runs = [job.train(words)[1] for _ in range(job.pick(2, 1))]
        predicted, measured = runs[0]["predicted_peak_bytes"], of(runs, "peak_rss_bytes")
        rows.append([name, predicted, measured, predicted / measured["median"]])
    return table([column("model"), column("predicted MB", scale=1 / MB, spread=False), column("measured MB", scale=1 / MB, spread=False),
                  column("predicted / measured")], rows, shown=1)


def startup(job):
    words = ["--data", job.reddit(), "--hidden", "16", *PLAIN, "--epochs", "1", *LEAN]
    job.train(words)  # the store comes into the page cache
    runs = [job.train(words)[1] for _ in range(job.pick(5, 2))]
    return table([column("from main to the first epoch"), column("s")], [["Reddit-size store in the page cache", of(runs, "startup_s")]])


def ranks(job):
    store, rows = job.reddit_random(), []
    for hidden, count, rounds in (("16", 8, 2), ("256", 3, 1)):
        words = ["--data", store, "--model", "sage", "--layers", "2", "--hidden", hidden, "--epochs", str(count + 1), *LEAN]

        def one():
            return job.train([*words, "--threads", "2"])

        def two():
            return job.train([*words, "--threads", "1"], measuring.mpirun(2))

        if not rows:
            two()  # the partition is made and kept
        found = take_turns(job.pick(rounds, 1), {"1": one, "2": two})
        losses = [runs[0][0][0]["loss"] for runs in found.values()]
        if abs(losses[0] - losses[1]) > 1e-4 * abs(losses[0]):
            raise Failed(f"two ranks begin with loss {losses[1]}, one rank with {losses[0]}")
        seconds = {key: quartiles(line["epoch_s"] for lines, _ in runs for line in lines[1:]) for key, runs in found.items()}
        rows.append([f"SAGE 2x{hidden}", seconds["1"], seconds["2"], seconds["2"]["median"] / seconds["1"]["median"]])
    return table([column("Reddit-size, random order"), column("1 rank, 2 threads, s"), column("2 ranks, 1 thread, s"), column("ratio")],
                 rows, shown=2)


# ---- communication --------------------------------------------------------------------------------------------------
def allreduce(job):
    names = ["1K", "16K", "256K", "1M", "4M", "16M", "32M", "256M"][:job.pick(8, 3)]
    found = job.bench_comm(["--sizes", ",".join(names), "--algorithms", "auto", "--repeats", job.pick("15", "5")], job.pick(2, 1))
    rows = []
    for name, (row, runs) in zip(names, found):
        sides = [quartiles(run[key] for run in runs) for key in ("seconds_median", "mpi_seconds_median")]
        if not all(run["valid"] for run in runs):
            job.failures.append(f"a sum of {row['bytes']} bytes was wrong")
            continue
        rows.append([f"{name[:-1]} {name[-1]}iB", *sides, sides[1]["median"] / sides[0]["median"]])
    return table([column("bytes"), column("Weft us", scale=1e6), column("MPI us", scale=1e6), column("MPI / Weft")], rows)


def sync(job):
    found = job.bench_comm(["--op", "sync", "--sizes", job.pick("102400000", "4000000"), "--pin", "off", "--overlap", "off", "--bucket",
                            "2MiB", "--comm-thread", "off", "--algorithms", "allreduce,topk,divide-shuffle,shadow,asp", "--topk-density",
                            "0.01"], 1)
    job.failures += [f"{row['algorithm']} computed something else" for row, runs in found if not all(run["valid"] for run in runs)]
    rows = [[row["algorithm"], row["ran"], of(runs, "seconds_median"), of(runs, "model_seconds"), of(runs, "mpi_seconds_median")]
            for row, runs in found]
    return table([column("mode"), column("what ran"), column("ms a step", scale=1e3), column("predicted ms", scale=1e3, spread=False),
                  column("MPI_Allreduce ms", scale=1e3)], rows)


def select(job):
    found = job.bench_comm(["--op", "select", "--sizes", job.pick("102400000", "4000000"), "--algorithms", "all", "--topk-density", "0.01"],
                           job.pick(3, 1))
    job.failures += [f"{row['algorithm']} selected something else" for row, runs in found if not all(run["valid"] for run in runs)]
    rows = [[row["algorithm"], of(runs, "seconds_median"), of(runs, "passes"), row["exact_share"]] for row, runs in found]
    return table([column("algorithm"), column("ms", scale=1e3), column("passes that only read"), column("share of the exact answer")], rows)


# ---- text and images ------------------------------------------------------------------------------------------------
def text(job):
    python = measuring.VENV_PYTHON if os.access(measuring.VENV_PYTHON, os.X_OK) else sys.executable
    words = ["--edges", job.pick(10000000, 200000), "--vertices", job.pick(2000000, 40000), "--rounds", job.pick(3, 1)]
    found = job.script("convert_text", words, ["--weft", job.weft], python)
    readers = (("`weft convert`: read", "weft", "read_s"), ("`weft convert`: whole, with the store", "weft", "whole_s"),
               ("pandas.read_csv", "pandas.read_csv", "s"), ("numpy.loadtxt", "numpy.loadtxt", "s"))
    rows = [[f"edges, {name}", found[key][part], found["megabytes"] / found[key][part]["median"] / 1e3]
            for name, key, part in readers if key in found]
    words = ["--rows", job.pick(1000000, 20000), "--rounds", job.pick(5, 2)]
    found = job.script("table/run", words, ["--build", os.path.dirname(job.weft)])
    rows.append(["CSV table of 40 columns", quartiles(found["seconds"]), found["gb_per_second"]])
    return table([column("what is read"), column("s"), column("GB/s")], rows)


def images(job):
    cases = [("ResNet-20, 128 of 32x32", "resnet-20", 128, 32, 10, 2), ("ResNet-50, 8 of 224x224", "resnet-50", 8, 224, 4, 2)]
    rows = []
    for name, network, batch, size, steps, rounds in cases[:job.pick(2, 1)]:
        steps = job.pick(steps, 3)
        for precision in ("f32", "bf16"):
            peer = [network, "--batch", batch, "--steps", steps] + (["--bf16"] if precision == "bf16" else [])
            data = f"synth:images,n={batch * steps},size={size},channels=3,classes=10,test={batch}"
            words = ["--data", data, "--model", network, "--batch-size", str(batch), "--augment", "none", "--epochs", "2", "--precision",
                     precision, *LEAN]

            def theirs():
                return job.script("peers/images.py", peer, ["--threads", job.threads], measuring.VENV_PYTHON)

            def ours():
                last = job.train([*words, "--threads", str(job.threads)])[0][1]
                if not isinstance(last["loss"], float) or not math.isfinite(last["loss"]):
                    raise Failed(f"{name}, {precision}: the loss is {last['loss']}")
                return batch * steps / last["epoch_s"]

            found = take_turns(job.pick(rounds, 1), {"torch": theirs, "weft": ours})
            job.versions["torch"] = found["torch"][0]["torch"]
            rates = [quartiles(rate for run in found["torch"] for rate in run["rates"]), quartiles(found["weft"])]
            rows.append([f"{name}, {precision}", *rates, rates[1]["median"] / rates[0]["median"]])
    return table([column("network"), column("PyTorch images/s"), column("Weft images/s"), column("Weft / PyTorch")], rows,
                 shown=2)


def trees(job):
    """Boosted trees on 1 M rows, binning included, beside XGBoost and LightGBM."""
    peers, rows = ["xgboost", "lightgbm", "lightgbm-quantised"], []
    for bounds in (["--depth", "8"], ["--leaves", "255"]):
        got = job.script("trees/run", [*bounds, "--rounds", "3"], ["--weft", job.weft, "--rows", job.pick("1000000", "20000"), "--trees", job.pick("100", "5")],
                         measuring.VENV_PYTHON)
        job.versions.update(got["versions"])
        own, sides = got["sides"]["weft"], got["sides"]
        best = max(one["auc"] for peer in peers for one in sides[peer])
        rows.append([" ".join(bounds).strip("-").replace("leaves 255", "255 leaves"), quartiles(one["train"] for one in own),
                     *(quartiles(one["train"] / base["train"] for one, base in zip(sides[peer], own)) for peer in peers),
                     f"{own[-1]['auc']:.4f} / {best:.4f}"])
    return table([column("trees of"), column("Weft s"), column("XGBoost / Weft"), column("LightGBM / Weft"), column("its quantised form / Weft"),
                  column("AUC, Weft / best other")], rows, shown=1)


def answers(job):
    """Answers of boosted trees, SHAP values and interactions beside XGBoost's, on the same rows in memory."""
    got = job.script("trees/answer", ["--rounds", job.pick("5", "1")],
                     ["--weft", job.weft, "--rows", job.pick("1000000", "5000"), "--trees", job.pick("100", "5"), "--predicted", job.pick("500000", "5000"),
                      "--explained", job.pick("10000", "200"), "--pairs", job.pick("1000", "20")], measuring.VENV_PYTHON)
    rows = []
    for case in got["cases"]:
        name = next(side for side in case["passes"] if side != "weft")
        job.versions["xgboost"] = name.split()[-1]
        sides = [case["passes"][side] for side in ("weft", name)]
        ratios = [quartiles(theirs[k] / ours[k] for ours, theirs in zip(*sides)) for k in (0, 1)]
        rows.append([f"{case['what']}, {case['shape'].replace('-', ' ')}, {case['rows']} rows", quartiles(p[0] for p in sides[0]), *ratios])
    return table([column("answers"), column("Weft s"), column("XGBoost / Weft"), column("of processor time")], rows, shown=1)


# Name: (function, seconds on two quiet cores with the stores made).
SUBJECTS = {"epochs": (epochs, 310), "epochs-forum": (forum_epochs, 110), "sums": (sums, 100), "sums-forum": (forum_sums, 80),
            "sums-i16": (i16_sums, 100), "seconds-to-accuracy": (seconds_to_accuracy, 700), "partition": (partition, 60),
            "memory": (memory, 45), "startup": (startup, 20), "ranks": (ranks, 75), "allreduce": (allreduce, 20), "sync": (sync, 45),
            "select": (select, 20), "text": (text, 40), "images": (images, 130),
            "trees": (trees, 300), "answers": (answers, 400)}
