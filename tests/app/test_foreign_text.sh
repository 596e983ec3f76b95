#!/bin/bash
# Texts of others in the log and on stdout: names in manifests, of files and of members, options, values, configuration
# lines and the environment, with ESC, line breaks, a C1 control, a mark of the writing direction and bytes that are no
# UTF-8. Nothing of them is obeyed by a terminal, and none begins a line.
# trees: asan
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work_folder

"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"
"$weft" train --data store --epochs 2 --threads 1 --quiet --run-dir run >/dev/null 2>&1 || fail "train"

timeout 170 python3 - "$weft" <<'CHECK' || fail "a foreign text reached the terminal"
import json, os, shutil, subprocess, sys, unicodedata, zipfile
weft = sys.argv[1]
EVIL = "x\x1b[31m\nweft: forged\r\x07\x7f\u009b2J\u202e\ty"
BYTES = EVIL.encode() + b"\xff\xfe"
tried = 0

def run(arguments, code, stdin=None, lines=None, environment=None, foreign=True):
    """Lines of both streams: printable, and none begun by the foreign text."""
    global tried
    tried += 1
    env = dict(os.environb)
    env.update(environment or {})
    arguments = [os.fsencode(a) for a in arguments]
    done = subprocess.run([os.fsencode(weft)] + arguments, capture_output=True, timeout=60, env=env)
    where = (arguments, done.returncode, done.stdout, done.stderr)
    assert done.returncode == code, where
    for stream in (done.stdout, done.stderr):
        text = stream.decode("utf-8")  # not UTF-8: raises
        for line in text.split("\n"):
            assert not line.startswith("weft: forged"), where
            for c in line:
                assert unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp"), (hex(ord(c)),) + where
    for line in done.stderr.decode().splitlines():
        assert line.startswith("weft: "), where
    if lines is not None:
        assert len(done.stderr.splitlines()) == lines, where
    if foreign:
        assert b"\\x1b[31m" in done.stdout + done.stderr, where

# ---- options, values, commands, the environment ----
run([BYTES], 2, lines=1)
run(["help", BYTES], 2, lines=1)
run(["train", b"--" + BYTES], 2, lines=1)
run(["train", "--model", BYTES], 2, lines=1)
run(["train", "--epochs", BYTES], 2, lines=1)
run(["train", b"--help=" + BYTES], 2, lines=1)
run(["convert", "store", "--to", "metis", BYTES, "--out", "o"], 2, lines=1)
run(["convert", BYTES, "--out", "o"], 66)
run(["info", BYTES], 66, lines=1)
run(["partition", BYTES], 66, lines=1)
run(["report", BYTES], 66, lines=1)
run(["convert", b"synth:" + BYTES, "--out", "o"], 2)
run(["train", "--data", "store"], 2, environment={b"WEFT_EPOCHS": BYTES}, lines=1)
with open("bad.conf", "wb") as out:
    out.write(b"[training]\n\x1b[31mlr\x1b[31m = 1\x1b[31m\n")
run(["train", "--config", "bad.conf"], 2, lines=1)

# ---- names of files and folders, good and bad ones ----
os.mkdir(BYTES)
folder = BYTES + b"/"
with open(folder + BYTES, "wb") as out:
    out.write(b"0 1\n1 2\n2 0\n")
run(["convert", folder + BYTES, "--out", "g"], 0)
run(["info", "g"], 0)
with open(folder + BYTES, "ab") as out:
    out.write(b"3 \x1b[31m\n")
run(["convert", folder + BYTES, "--out", "o"], 65)
run(["convert", folder, "--out", "o"], 66, lines=1)
with open(folder + b"s", "wb") as out:
    out.write(b"a \x1b[31m b\n")
run(["convert", folder + b"s", "--out", "o"], 65, lines=1)
shutil.copytree(b"store", folder + b"store")
run(["partition", folder + b"store", "--parts", "2"], 0, foreign=False)
run(["train", "--data", folder + b"store", "--epochs", "1", "--threads", "1", "--run-dir", folder + b"run"], 2)
run(["report", folder], 66, lines=1)

# ---- a manifest ----
def edit(store, change):
    shutil.copytree("store", store)
    path = store + "/manifest.json"
    manifest = json.load(open(path))
    change(manifest)
    json.dump(manifest, open(path, "w"))

edit("named", lambda m: m.update(name=EVIL, origin=EVIL))
run(["info", "named"], 0)
run(["partition", "named", "--parts", "2"], 0)
run(["train", "--data", "named", "--epochs", "1", "--threads", "1", "--run-dir", "r2"], 0)
run(["info", "r2"], 0)
run(["train", "--data", "named", "--epochs", "1", "--threads", "1", "--dry-run"], 0)
run(["bench", "spmm", "--data", "named", "--dims", "8", "--repeats", "1", "--threads", "1"], 0)
run(["bench", "spmm", "--data", "named", "--dims", "8", "--repeats", "1", "--threads", "1", "--format", "csv"], 0)
edit("typed", lambda m: m.update(format=EVIL))
run(["info", "typed"], 65, lines=1)
edit("filed", lambda m: m["arrays"]["label"].update(file=EVIL))
run(["info", "filed"], 66, lines=1)
edit("keyed", lambda m: m.update({EVIL: 1, "vertices": "x"}))
run(["info", "keyed"], 65, lines=1, foreign=False)

# ---- members of an archive, and a run folder ----
with zipfile.ZipFile("member.npz", "w") as out:
    out.writestr("x\u009b31m.npy", b"no array")
run(["convert", "member.npz", "--out", "o"], 65, lines=1, foreign=False)
shutil.copytree("run", "run2")
facts = json.load(open("run2/run.json"))
facts["host"] = facts["data"]["name"] = EVIL
json.dump(facts, open("run2/run.json", "w"))
run(["info", "run2"], 0)
run(["report", "run2", "--format", "md", "--out", "-"], 0, foreign=False)
print(tried, "texts")
CHECK
