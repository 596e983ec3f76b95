"""weft.train beside the command: the same bits by this process and by the program, four ranks, interruptions, refusals with the program's
words, tables and images, and a log that goes where sys.stderr does. WEFT in the environment names the program."""

import contextlib
import io
import os
import pty
import signal
import subprocess
import sys
import threading
import types

import numpy as np

import weft
from weft import program

RANKS = ("mpirun", "--oversubscribe", "--bind-to", "none", "-np")
rng = np.random.default_rng(0)
N = 1000
y = rng.integers(0, 4, N)
x = (rng.normal(size=(N, 8)) + np.eye(4, 8)[y]).astype(np.float32)
part = rng.choice(3, N, p=[0.6, 0.2, 0.2])
edges = rng.integers(0, N, (2, 20000))
edges = edges[:, y[edges[0]] == y[edges[1]]]


def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), (text, str(error))
        return error
    raise AssertionError("not refused: " + text)


# ---- a graph: this process, the program, the command line, four ranks ----
graph = weft.Graph(edges, x, y, part == 0, part == 1, part == 2)
assert graph.manifest["vertices"] == N and np.array_equal(graph.arrays()["feature"], x)
options = dict(model="sage", hidden=16, epochs=12, lr=0.02, eval_every=3)
seen, before, log = [], os.sched_getaffinity(0), io.StringIO()
with contextlib.redirect_stderr(log):
    run = weft.train(graph, run_dir="inside", on_epoch=seen.append, **options)
assert os.sched_getaffinity(0) == before
assert "Run: 01, Epoch: 01" in log.getvalue(), log.getvalue()
assert [e.epoch for e in seen] == list(range(1, 13)) and [e.loss for e in seen] == list(run.metrics["loss"])
assert np.array_equal([e.valid for e in seen], run.metrics["valid"], equal_nan=True) and np.isnan(seen[0].valid)
outside = weft.train(graph, run_dir="outside", in_process=False, quiet=True, **options)
words = ["train", "--data", graph.path, "--model", "sage", "--hidden", "16", "--epochs", "12", "--lr", "0.02", "--eval-every", "3"]
subprocess.run([os.environ["WEFT"], *words, "--run-dir", "command"], check=True, capture_output=True)
for other in (outside, weft.load("command", graph)):
    assert np.array_equal(run.metrics["loss"], other.metrics["loss"]) and run.test == other.test
    assert np.array_equal(run.predictions, other.predictions)
    assert all(np.array_equal(array, other.weights[name]) for name, array in run.weights.items()) and len(run.weights) >= 4
four = weft.train(graph, run_dir="four", ranks=4, launcher=RANKS, quiet=True, **options)
assert four.summary["ranks"] == 4 and np.allclose(four.metrics["loss"], run.metrics["loss"], rtol=1e-5)

# ---- words of newcomers ----
same = weft.Graph(edge_index=edges, x=x, y=y, train=part == 0, valid=part == 1, test=part == 2)
assert np.array_equal(same.arrays()["source"], graph.arrays()["source"])
refused(TypeError, "takes one source", lambda: weft.Graph(x=x))
refused(ValueError, "train: 0.6 is a share", lambda: weft.Graph(edges, x, y, 0.6))
refused(FileNotFoundError, "nowhere: no run folder", lambda: weft.load("nowhere"))
assert run.best_epoch == int(run.metrics["epoch"][np.nanargmax(run.metrics["valid"])])
assert weft.__version__ == weft.doctor(quiet=True)["weft"] and not hasattr(weft, "versions")
with open(run.export("model.safetensors"), "rb") as exported:
    assert b"convs.0.lin_l.weight" in exported.read(4000)

# ---- answers, scores, a page ----
answers = run.predict()
assert np.array_equal(answers.predictions, run.predictions) and answers.probabilities.shape == (N, 4)
by_program = run.predict(in_process=False)
assert np.array_equal(answers.probabilities, by_program.probabilities) and answers.scores == by_program.scores
rows = run.embeddings()
assert rows.shape == (N, 16) and np.array_equal(rows, run.embeddings(in_process=False)) and rows.std() > 0
offset, source = (graph.arrays()[name] for name in ("offset", "source"))
mean = np.stack([rows[source[a:b]].mean(0) if b > a else np.zeros(16) for a, b in zip(offset, offset[1:])])
logits = rows @ run.weights["layer1.self"] + mean @ run.weights["layer1.neigh"] + run.weights["layer1.bias"]
probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
assert np.abs(probabilities - answers.probabilities).max() < 1e-5
refused(weft.Error, "one layer", weft.train(graph, run_dir="flat", quiet=True, layers=1, epochs=1).embeddings)
assert answers.scores["test"]["score"] == run.evaluate()["test"]["score"] == run.test
assert abs(run.test - np.mean(answers.predictions[part == 2, 0] == y[part == 2])) < 1e-12
assert os.path.getsize(run.report()) > 10000
again = weft.load("inside").predict()  # the temporary store is there as long as its object
assert np.array_equal(again.probabilities, answers.probabilities)

# ---- a bar in place of the lines of epochs ----
class Terminal(io.StringIO):
    def isatty(self):
        return True


def told_of(stream, **how):
    with contextlib.redirect_stderr(stream):
        bits = weft.train(graph, **{**options, **how}).metrics["loss"]
    return stream.getvalue(), bits


class ZMQInteractiveShell:  # of IPython, in a notebook
    pass


def screen(told):
    """What a terminal shows: a carriage return goes back to the begin of the line, which is written over."""
    lines = []
    for line in told.split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part):]
        lines.append(shown.rstrip())
    return lines


os.environ["TERM"] = "xterm"
notebook = types.ModuleType("IPython")
notebook.get_ipython = ZMQInteractiveShell
bar = "run 1, epoch 12/12 [" + "#" * 30 + "]"
for stream, how in ((Terminal(), {}), (Terminal(), dict(in_process=False)), (io.StringIO(), dict(progress=True)),
                    (Terminal(), dict(quiet=True, progress=True)), (Terminal(), dict(ranks=2, launcher=RANKS)), (io.StringIO(), dict(notebook=True))):
    if how.pop("notebook", False):
        sys.modules["IPython"] = notebook
    told, bits = told_of(stream, **how)
    sys.modules.pop("IPython", None)
    lines = screen(told)
    shown = [line for line in lines if line.startswith("run 1, epoch ")]
    library = how.get("in_process", True) and "ranks" not in how  # which tells of each epoch; the program of some, and of the end
    assert shown == [bar + " loss %.4g" % bits[-1] if library else bar], lines
    assert np.allclose(bits, run.metrics["loss"], rtol=1e-5) and (not library or np.array_equal(bits, run.metrics["loss"]))
    assert " Epoch: " not in told and told.endswith("\n") and told.count("\r") >= 2, told
    assert ("weft: training: " in told) == (not how.get("quiet", False)), told
    assert not any("\r" in line or line.startswith(" ") and not line.startswith("  ") for line in lines), lines
for stream, how in ((io.StringIO(), {}), (Terminal(), dict(progress=False))):
    told, _ = told_of(stream, **how)
    assert "\r" not in told and "Run: 01, Epoch: 01" in told, told
assert told_of(Terminal(), quiet=True)[0] == ""

# Where sys.stderr is descriptor 2, as outside of tests, the bar does not go through the pipe that catches what C writes.
script = "import weft; weft.train(%r, **%r)" % (graph.path, {**options, "run_dir": "direct", "force": True, "progress": True})
leader, follower = pty.openpty()
with open("direct.err", "w+b") as file:
    for stream in (file, follower):
        subprocess.run([sys.executable, "-c", script], stderr=stream, timeout=200, check=True)
    file.seek(0)
    for told in (file.read(), os.read(leader, 65536)):
        assert bar.encode() in told and b"weft: training: " in told, told
os.close(follower)
os.close(leader)

# ---- refusals, in the program's words ----
for within in (True, False):
    error = refused(weft.Error, "did you mean", lambda: weft.train(graph, hiden=3, in_process=within, quiet=True))
    assert error.status == 2 and "weft: error" not in str(error)
    refused(weft.Error, "must be between 1 and 65536", lambda: weft.train(graph, hidden=0, in_process=within, quiet=True))
    refused(weft.Error, "absent.weft", lambda: weft.train("absent.weft", in_process=within, quiet=True))
refused(weft.Error, "already holds a run", lambda: weft.train(graph, run_dir="inside", quiet=True))
refused(weft.Error, "outside of this process", lambda: weft.train(graph, ranks=2, on_epoch=print))
refused(weft.Error, "nothing.here", lambda: weft.train(graph, in_process=False, weft="nothing.here"))
refused(TypeError, "weft.Table", lambda: weft.train(x))
refused(ValueError, "used as it is", lambda: weft.Graph(graph.path, x=x))
refused(ValueError, "y has 3 rows", lambda: weft.Table(x, y[:3]))
refused(TypeError, "uint8", lambda: weft.Images(np.zeros((2, 4, 4)), [0, 1]))
refused(ValueError, "names a folder", lambda: weft.Images(np.zeros((2, 4, 4), np.uint8), ["a", "../b"]))
assert "--oversubscribe" in program.message_of(["There are not enough slots available in the system\n"], 1)

# ---- Ctrl-C, and what a callback raises: a checkpoint, and on from there ----
for where, within in (("stopped-inside", True), ("stopped-outside", False)):
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    error = refused(weft.Stopped, "to go on: ", lambda: weft.train(graph, run_dir=where, epochs=10**6, in_process=within, quiet=True))
    assert error.path == where and error.status == 75
    done = int(weft.load(where).metrics["epoch"][-1])
    resumed = weft.load(where, graph).resume(epochs=done + 2, quiet=True)
    assert resumed.metrics["epoch"][-1] == done + 2 and resumed.path == where


def enough(epoch):
    if epoch.epoch == 5:
        raise StopIteration("enough")


refused(StopIteration, "enough", lambda: weft.train(graph, run_dir="enough", on_epoch=enough, quiet=True, **options))
rest = weft.load("enough", graph).resume(quiet=True)
assert np.array_equal(rest.metrics["loss"], run.metrics["loss"]) and np.array_equal(rest.predictions, run.predictions)

# ---- tables: trees by NumPy and by the program ----
table = {"number": x[:, 0], "word": np.array(["a", "b", "c"])[rng.integers(0, 3, N)]}
target = (x[:, 0] + (table["word"] == "b") + rng.normal(size=N) > 0.5).astype(int)
rows = {name: {key: column[part == code] for key, column in table.items()} for code, name in enumerate(("train", "valid", "test"))}
forest = weft.train(weft.Table(rows["train"], target[part == 0], valid=(rows["valid"], target[part == 1]), test=(rows["test"], target[part == 2])),
                    model="trees", trees=10, lambda_=2, run_dir="forest", quiet=True)
assert forest.options["lambda"] == "2"
answers = forest.predict(weft.Table(rows["test"]))
assert np.allclose(answers.probabilities, forest.model.predict_proba(rows["test"]), atol=1e-6)

# ---- images: bytes come back as they were given ----
pixels = rng.integers(0, 60, (60, 12, 16, 3), dtype=np.uint8)
kind = np.arange(60) % 11
pixels[np.arange(60), kind] += 150
images = weft.Images(pixels[:40], kind[:40], test=(pixels[40:], kind[40:]))
assert sorted(os.listdir(os.path.join(images.path, "train"))) == ["%02d" % k for k in range(11)]
seen_run = weft.train(images, model="mlp", epochs=30, batch_size=20, augment="none", run_dir="images", quiet=True)
assert seen_run.test > 0.5, seen_run.test
alone = seen_run.predict(weft.Images(pixels[40:]))
assert abs(np.mean(alone.predictions[:, 0] == kind[40:]) - seen_run.test) < 1e-9

# ---- what there is ----
with contextlib.redirect_stdout(io.StringIO()) as told:
    found = weft.doctor()
assert found["program"] == os.environ["WEFT"] and found["missing"] == [] and "MPI: " in told.getvalue()
refused(weft.Error, "does not run", lambda: (_ for _ in ()).throw(weft.Error("\n".join(weft.doctor(weft="/bin/false", quiet=True)["missing"]))))
assert "hidden" in weft.train.__doc__
