#!/bin/bash
# weft train --tensorboard: event files against metrics.jsonl through a reader of their own, while a job runs, with
# several runs, on two ranks, after a resumption and a replacement; and the documented reader that follows
# metrics.jsonl.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
work_folder
export PYTHONPATH="$source_dir/tests/support" PYTHONDONTWRITEBYTECODE=1
data=synth:quickstart,scale=0.01

python() { python3 - "$@" || fail "line ${BASH_LINENO[0]}: the check above"; }
train() { "$weft" train --data $data --quiet "$@" >out 2>err || fail "weft train $*: exit $?: $(cat err)"; }

cat >compare.py <<'PY'
import json
import struct
import event_reader

KEYS = {"loss": "loss", "score/train": "train", "score/valid": "valid", "score/test": "test", "time/eval_s": "eval_s",
        "lr": "lr", "time/epoch_s": "epoch_s", "time/comm_exposed_s": "comm_exposed_s", "sent_bytes": "comm_bytes"}


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def check(folder, events, run=1):
    """The events are the lines of a run, to the last bit of a float, and every step stands once."""
    lines = [l for l in map(json.loads, open(folder + "/metrics.jsonl", encoding="utf-8")) if l["run"] == run]
    told = event_reader.scalars(events)
    assert set(told) == set(KEYS), set(told) ^ set(KEYS)
    for tag, key in KEYS.items():
        expected = [(l["epoch"], single(l[key])) for l in lines if key in l]
        assert told[tag] == expected, (tag, told[tag][:3], expected[:3], len(told[tag]), len(expected))
    return lines
PY
export PYTHONPATH="$PYTHONPATH:$work"

# ---- one run, several runs, two ranks, and without the option ----
train --epochs 12 --eval-every 5 --schedule cosine --tensorboard --run-dir one
train --epochs 6 --runs 3 --tensorboard --run-dir several
ranks 2 "$weft" train --data $data --epochs 7 --tensorboard --run-dir two --quiet >out 2>err || fail "2 ranks: $(cat err)"
train --epochs 2 --run-dir none
python <<'PY'
import glob, os, socket, time
import compare, event_reader
lines = compare.check("one", "one")
assert len(lines) == 12 and len({l["lr"] for l in lines}) > 5
assert [s for s, _ in event_reader.scalars("one")["score/test"]] == [5, 10, 12]
assert compare.check("two", "two")[3]["comm_bytes"] > 0
for run in (1, 2, 3):
    compare.check("several", f"several/run-{run}", run)
assert event_reader.files_of("several") == [] and not os.path.exists("several/run-4")
assert not glob.glob("none/*tfevents*")
name, = event_reader.files_of("one")
_, _, _, seconds, host = os.path.basename(name).split(".", 4)
assert len(event_reader.files_of("two")) == 1, "rank 0 alone writes"
assert len(seconds) == 10 and abs(int(seconds) - time.time()) < 600 and host == socket.gethostname(), name
events, _ = event_reader.read_file(name)
assert all(abs(e.time - time.time()) < 600 for e in events)
PY

# ---- while it runs: whole records and whole lines come one by one; weft.loggers follows ----
mkdir stub
cat >stub/wandb.py <<'PY'
import json


class Run:
    id, summary = "w", {}

    def __init__(self):
        self.file = open("followed.jsonl", "w")

    def log(self, row, step):
        self.file.write(json.dumps([step, row]) + "\n")
        self.file.flush()

    def finish(self):
        self.file.write('"finished"\n')
        self.file.close()


def init(project, config, **given):
    assert project and config["hidden"] == "64", config
    return Run()
PY
"$weft" train --data synth:quickstart,scale=0.1 --hidden 64 --epochs 100000 --tensorboard --run-dir live --quiet >out 2>err &
job=$!
for _ in $(seq 400); do
    [ -s live/metrics.jsonl ] && break
    sleep 0.02
done
PYTHONPATH=stub:$source_dir/python PYTHONDONTWRITEBYTECODE=1 timeout 100 python3 -m weft.loggers wandb live --follow >follow.out 2>follow.err &
follower=$!
python <<'PY'
import json, time
import event_reader
seen, last_line, last_event, cut = 0, 0, 0, 0
deadline = time.time() + 60
while seen < 8 and time.time() < deadline:
    text = open("live/metrics.jsonl", encoding="utf-8").read()
    cut += not text.endswith("\n")
    lines = [json.loads(l) for l in text.split("\n")[:-1]]
    files = event_reader.files_of("live")
    events = event_reader.read_file(files[0])[0] if files else []
    if lines and events and lines[-1]["epoch"] > last_line and events[-1].step > last_event:
        last_line, last_event = lines[-1]["epoch"], events[-1].step
        assert last_event >= last_line - 1  # read a moment later
        assert "exit" not in json.load(open("live/run.json"))
        seen += 1
    time.sleep(0.05)
assert seen == 8, f"only {seen} of 8 looks at a running job saw news"
assert cut <= 2, f"{cut} looks saw half a line"
PY
got=0
kill -TERM $job
wait $job || got=$?
[ "$got" -eq 75 ] || fail "a terminated job: exit $got: $(cat err)"
wait $follower || fail "weft.loggers: $(cat follow.err)"
python <<'PY'
import json
import compare
lines = compare.check("live", "live")
followed = [json.loads(l) for l in open("followed.jsonl")]
assert followed.pop() == "finished" and len(followed) == len(lines), (len(followed), len(lines))
for (step, row), line in zip(followed, lines):
    assert step == line["epoch"] and row["loss"] == line["loss"] and row["valid"] == line["valid"], (step, row)
PY
# ---- killed behind a checkpoint, and resumed: a new file, and no step twice ----
train --epochs 20 --checkpoint-every 8 --tensorboard --run-dir reference
cp -r reference killed
rm -r killed/ckpt/epoch-00000020 killed/summary.json
[ -d killed/ckpt/epoch-00000016 ] || fail "the test expects a checkpoint of epoch 16: $(ls killed/ckpt)"
python <<'PY'
import event_reader
name, = event_reader.files_of("killed")
with open(name, "ab") as file:
    file.write(b"\x10\0\0\0\0") # half a record
PY
train --epochs 20 --checkpoint-every 8 --resume --tensorboard --run-dir killed
python <<'PY'
import compare, event_reader
compare.check("killed", "killed")
first, second = [event_reader.read_file(f)[0] for f in event_reader.files_of("killed")]
assert [e.step for e in first] == [0, *range(1, 17)], [e.step for e in first]
assert [e.step for e in second] == [0, 17, 17, 18, 19, 20], [e.step for e in second]
assert second[1].session == 1 and not second[1].values, "whoever followed the first file forgets what it saw of later steps"
assert all(e.session is None for e in first)
PY
# Several runs: the interrupted one ends at the checkpoint, later ones begin anew.
train --epochs 10 --runs 3 --checkpoint-every 4 --tensorboard --run-dir many
for late in $(ls many/ckpt | sort | tail -n +2); do rm -r "many/ckpt/$late"; done
epoch=$(ls many/ckpt | sed 's/epoch-0*//')
[ "$epoch" -lt 30 ] || fail "no earlier checkpoint: $(ls many/ckpt)"
train --epochs 10 --runs 3 --checkpoint-every 4 --resume --tensorboard --run-dir many
python <<'PY'
import compare, event_reader
for run in (1, 2, 3):
    compare.check("many", f"many/run-{run}", run)
PY

# ---- replaced: nothing of the earlier run stays, with or without the option ----
mkdir several/run-2/mine
train --epochs 4 --tensorboard --force --run-dir several
python <<'PY'
import os
import compare
assert len(compare.check("several", "several")) == 4
assert not os.path.exists("several/run-1") and os.listdir("several/run-2") == ["mine"] and not os.path.exists("several/run-3")
PY
train --epochs 2 --force --run-dir one
[ -z "$(ls one | grep tfevents)" ] || fail "events of a replaced run stay: $(ls one)"

# ---- events that cannot be written are a warning, once, and the training stands ----
mkdir -p blocked
: >blocked/run-1 # a file where the folder of the first run should be
"$weft" train --data $data --epochs 3 --runs 2 --tensorboard --run-dir blocked --quiet >out 2>err || fail "exit $?: $(cat err)"
[ "$(grep -c 'events for TensorBoard' err)" -eq 1 ] || fail "not one warning: $(cat err)"
[ "$(wc -l <blocked/metrics.jsonl)" -eq 6 ] || fail "metrics.jsonl is not whole"
echo "test_tensorboard: passed"
