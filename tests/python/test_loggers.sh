#!/usr/bin/env bash
# python/weft/loggers.py: what W&B and MLflow are given of a job of three runs, by imitations of both that write it down; and a job
# that is followed while it writes.
# trees: release
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need_numpy
work_folder
export PYTHONPATH="$source_dir/python:$work" PYTHONDONTWRITEBYTECODE=1
"$weft" train --data synth:quickstart,scale=0.01 --runs 3 --epochs 4 --eval-every 2 --threads 1 --quiet --run-dir three >/dev/null
cat >wandb.py <<'PY'
made = []


class Run:
    def __init__(self, **given):
        self.given, self.rows, self.summary, self.open, self.id = given, [], {}, True, "w%d" % len(made)
        made.append(self)

    def log(self, figures, step):
        assert self.open and all(step > other for other, _ in self.rows)
        self.rows.append((step, figures))

    def finish(self):
        self.open = False


def init(**given):
    return Run(**given)
PY
mkdir mlflow
touch mlflow/__init__.py
cat >mlflow/entities.py <<'PY'
import collections
Metric = collections.namedtuple("Metric", "key value timestamp step")
Param = collections.namedtuple("Param", "key value")
PY
cat >checks.py <<'PY'
import json
import os
import subprocess
import sys
import threading
import time
import types
import warnings
from pathlib import Path

import wandb
from weft import loggers, store

job = json.loads(Path("three/run.json").read_text())["options"]
finals = json.loads(Path("three/summary.json").read_text())["run_results"]
metrics = store.read_metrics("three")


def rows(run):
    here = metrics["run"] == run
    return [(int(epoch), float(loss)) for epoch, loss in zip(metrics["epoch"][here], metrics["loss"][here])]


ids = loggers.to_wandb("three", project="p", mode="offline")
assert ids == ["w0", "w1", "w2"] and all(not run.open for run in wandb.made)
for number, run in enumerate(wandb.made, 1):
    assert (run.given["project"], run.given["group"], run.given["mode"]) == ("p", "three", "offline")
    assert run.given["config"]["epochs"] == "4" and len(run.given["config"]) == len(job)
    assert [(step, figures["loss"]) for step, figures in run.rows] == rows(number) and len(run.rows) == 4
    assert "valid" not in run.rows[0][1] and "valid" in run.rows[1][1], run.rows
    assert run.summary["final_test"] == finals[number - 1]["test"]
assert len({run.rows[0][1]["loss"] for run in wandb.made}) == 3  # three seeds, not one of them three times


class Client:
    def __init__(self):
        self.runs = {}

    def get_experiment_by_name(self, name):
        return None

    def create_experiment(self, name):
        return "e-" + name

    def create_run(self, place, run_name, tags):
        assert place == "e-q"
        self.runs[run_name] = {"tags": tags, "params": {}, "metrics": [], "open": True}
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id=run_name))

    def log_batch(self, run, metrics=(), params=()):
        assert self.runs[run]["open"] and len(params) <= 100
        self.runs[run]["metrics"] += metrics
        self.runs[run]["params"].update(params)

    def set_terminated(self, run):
        self.runs[run]["open"] = False


client = Client()
ids = loggers.to_mlflow("three", experiment="q", client=client)
assert ids == ["three", "three/run-1", "three/run-2", "three/run-3"] and not any(run["open"] for run in client.runs.values())
for number, name in enumerate(ids[1:], 1):
    run = client.runs[name]
    assert run["tags"] == {"mlflow.parentRunId": "three"} and len(run["params"]) == len(job) > 100
    assert [(m.step, m.value) for m in run["metrics"] if m.key == "loss"] == rows(number)
    assert [m.value for m in run["metrics"] if m.key == "final_valid"] == [finals[number - 1]["valid"]]
assert client.runs["three"]["metrics"] == []

# A job that goes on: a line in two parts, one that comes late, and the end.
os.mkdir("going")
lines = Path("three/metrics.jsonl").read_text().splitlines(keepends=True)
Path("going/run.json").write_text(json.dumps({"options": {}}))
kernel = Path("/proc/sys/kernel/random/boot_id").read_text().strip() + " " + os.readlink("/proc/self/ns/pid")
began = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
Path("going/run.lock").write_text(json.dumps({"kernel": kernel, "process": os.getpid(), "began": began}))
Path("going/metrics.jsonl").write_text(lines[0] + lines[1][:20])


def write():
    time.sleep(0.3)
    with open("going/metrics.jsonl", "a") as file:
        file.write(lines[1][20:])
        file.flush()
        time.sleep(0.3)
        file.write("".join(lines[2:]))
    os.replace("three/run.json", "going/run.json")


writer = threading.Thread(target=write)
writer.start()
seen = list(loggers.records("going", follow=True, pause_s=0.05))
writer.join()
assert [(row.run, row.epoch) for row in seen] == [(run, epoch) for run in (1, 2, 3) for epoch in (1, 2, 3, 4)]

# A holder of another kernel is gone when its lock stands still; one that takes another's number is not the holder.
lock = loggers._Lock("going", looks=3, look_s=0)
assert not lock.gone()
for beat in (0, 1):
    Path("going/run.lock").write_text(json.dumps({"kernel": "other", "process": 1, "began": 1, "beat": beat}))
    assert [lock.gone() for _ in range(4)] == [False] * 3 + [True]
Path("going/run.lock").write_text(json.dumps({"kernel": kernel, "process": os.getpid(), "began": began + 1}))
assert lock.gone()

# A run that is followed before it begins, and killed.
train = [sys.argv[1], "train", "--data", "synth:quickstart,scale=0.01", "--epochs", "1000000", "--threads", "1", "--quiet", "--run-dir"]
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    started = []
    threading.Timer(0.3, lambda: started.append(subprocess.Popen([*train, "killed"], stdout=subprocess.DEVNULL))).start()
    epochs = loggers.records("killed", follow=True, pause_s=0.05)
    first = [next(epochs) for _ in range(3)]
    time.sleep(0.5)
    first.append(next(epochs))
    assert len(told) == 1 and "no run has begun there yet" in str(told[0].message), told
    started[0].kill()
    rest = list(epochs)
    started[0].wait()
    assert len(told) == 2 and "it was killed" in str(told[1].message), told
assert [row.epoch for row in first + rest] == list(range(1, len(first + rest) + 1))
PY
timeout 60 python3 -W error checks.py "$weft"
echo "ok"
