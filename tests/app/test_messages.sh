#!/bin/bash
# Messages that must fit what happened: a zero byte in a text is no damaged archive, a store without a name is called after
# its folder, a NaN has no sign, nothing is spoken of that is not there; and what an archive unpacks to counts in --memory.
# trees: asan
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work_folder

# refused CODE TEXT COMMAND...: that exit code, and the text in the last line of the log.
refused() {
    local code=$1 text=$2 got=0
    shift 2
    timeout 60 "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "exit $got instead of $code: $*: $(cat err)"
    tail -n 1 err | grep -qF -- "$text" || fail "no '$text' from $*: $(cat err)"
}

# ---- a zero byte ----
printf '0 1\n1\0 2\n2 0\n' >zero.txt
printf '3 2\n2\0\n1 3\n2\n' >zero.graph
printf '%%%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 \0 2\n' >zero.mtx
gzip -k zero.txt
refused 65 'zero.txt: line 2: a zero byte' "$weft" convert zero.txt --out o
refused 65 'zero.graph: line 2: a zero byte' "$weft" convert zero.graph --out o
refused 65 'zero.mtx: line 3: a zero byte' "$weft" convert zero.mtx --out o
refused 65 'zero.txt.gz: line 2: a zero byte' "$weft" convert zero.txt.gz --out o
printf '\0\0\0' >zeros
refused 65 'zeros: neither text nor an .npz archive' "$weft" convert zeros --out o
: >empty
refused 65 'empty: is empty' "$weft" convert empty --out o
printf 'PK\3\4and no more' >cut.npz
refused 65 'cut.npz: 15 bytes: too short for a zip archive' "$weft" convert cut.npz --out o

# ---- a manifest without a name ----
"$weft" convert synth:rmat,scale=5,f=0,classes=2 --out unnamed --quiet || fail "convert"
sed -i '/"name"/d' unnamed/manifest.json
refused 65 'unnamed has no features' "$weft" train --data unnamed/ --run-dir run
"$weft" info unnamed/ --check >out 2>err || fail "info: $(cat err)"

# ---- a NaN whose sign bit is set, as 0/0 gives it ----
python3 - <<'MAKE' || skip "no NumPy"
import numpy as np
nan = np.frombuffer(np.uint32(0xffc00000).tobytes(), np.float32)[0]
assert np.signbit(nan)
features = np.ones((3, 2), np.float32)
features[1, 1] = nan
np.save("nan.npy", features)
np.savez("nan.npz", features=features)
np.savez("sparse.npz", indptr=[0, 1, 1, 2], indices=[0, 1], data=np.float32([nan, 1]), shape=[3, 2])
MAKE
printf '0 1\n1 2\n' >edges.txt
refused 65 'column 1: nan is not finite' "$weft" convert edges.txt --features nan.npy --out o
refused 65 'column 1: nan is not finite' "$weft" convert edges.txt --features nan.npz --out o
refused 65 'row 0: nan is not finite' "$weft" convert edges.txt --features sparse.npz --out o

# ---- checkpoints: what stays is only spoken of where it is ----
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"
mkdir blocked && : >blocked/ckpt
(ulimit -f 24; exec "$weft" train --data store --epochs 2 --hidden 64 --threads 1 --checkpoint-every 1 --run-dir fresh >out 2>err)
grep -q "checkpoint after run 1, epoch 1 not written" err || fail "no warning: $(cat err)"
grep -q "the one before it stays" err && fail "one that is not there stays: $(cat err)"
grep -q "there is none to resume from, training goes on" err || fail "the warning: $(cat err)"

# ---- an archive of a megabyte that unpacks to a gigabyte ----
slack=64 # what the program takes by itself
ldd "$weft" | grep -q libasan && slack=300
python3 - "$weft" $slack <<'CHECK' || fail "--memory and an archive"
import io, resource, subprocess, sys, zipfile
import numpy as np

def header(shape, dtype):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
    return out.getvalue()

def zeros(archive, name, shape, dtype):
    left = int(np.prod(shape)) * np.dtype(dtype).itemsize
    with archive.open(name + ".npy", "w") as out:
        out.write(header(shape, dtype))
        while left > 0:
            out.write(bytes(min(left, 1 << 20)))
            left -= min(left, 1 << 20)

def archive(path, **arrays):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("vertices.npy", header((), "<i8") + np.int64(1000).tobytes())
        for name, (shape, dtype) in arrays.items():
            zeros(out, name, shape, dtype)

archive("edges.npz", edges=((60_000_000, 2), "<i8"))
archive("bytes.npz", edges=((60_000_000, 2), "|u1"))
archive("lists.npz", edges=((1, 2), "<i8"), train=((100_000_000,), "<i8"), valid=((1,), "<i8"), test=((1,), "<i8"))
archive("labels.npz", edges=((1, 2), "<i8"), labels=((1000,), "<i8"))
archive("y.npz", y=((1000, 100_000), "<f4"))
limit = (100 << 20) + (int(sys.argv[2]) << 20)
for path, more, code in (("edges.npz", [], 71), ("bytes.npz", [], 71), ("lists.npz", [], 71), ("labels.npz", [], 0),
                         ("labels.npz", ["--labels", "y.npz"], 71)):
    done = subprocess.run([sys.argv[1], "convert", path, "--out", "unpacked", "--memory", "100M", "--threads", "1", "--force"]
                          + more, capture_output=True, text=True, timeout=60)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024  # the largest child so far
    assert done.returncode == code, (path, done.returncode, done.stderr)
    assert code == 0 or "--memory allows 100 MiB" in done.stderr, (path, done.stderr)
    assert peak < limit, (path, peak)
CHECK
exit 0
