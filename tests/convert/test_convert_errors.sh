#!/bin/bash
# weft convert on bad input: the exit code says what kind, the message names the file, and nothing half-written stays.
# trees: asan
set -euo pipefail
weft=$1
source_dir=$2
command -v python3 >/dev/null || { echo "skipped: python3 is not available"; exit 77; }
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"

# A small weft-npz with the standard library alone; each KEY=PYTHON-LIST replaces an array.
cat >make.py <<'PY'
import array, sys, zipfile
arrays = {"vertices": ((), [4]), "edges": ((3, 2), [0, 1, 1, 2, 2, 3]), "labels": ((4,), [0, 1, 0, 1]),
          "train": ((1,), [0]), "valid": ((1,), [1]), "test": ((2,), [2, 3])}
out = sys.argv[1]
for change in sys.argv[2:]:
    key, values = change.split("=")
    values = [int(v) for v in values.split(",")]
    arrays[key] = ((len(values) // 2, 2) if key == "edges" else (len(values),) if key != "vertices" else (), values)
with zipfile.ZipFile(out, "w") as archive:
    for name, (shape, values) in arrays.items():
        text = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape!r}, }}"
        text += " " * (-(len(text) + 11) % 64) + "\n"
        archive.writestr(name + ".npy", b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode()
                         + array.array("q", values).tobytes())
PY

# expect CODE TEXT ARGUMENTS...: weft convert fails so, and leaves no file behind.
expect() {
  local code=$1 text=$2 got=0 before
  shift 2
  before=$(find . | sort)
  "$weft" convert "$@" >stdout.txt 2>stderr.txt || got=$?
  [ "$got" -eq "$code" ] || { echo "exit $got instead of $code: weft convert $*"; cat stderr.txt; exit 1; }
  grep -qF -- "$text" stderr.txt || { echo "no '$text' in:"; cat stderr.txt; exit 1; }
  [ ! -s stdout.txt ] || { echo "output on stdout"; exit 1; }
  [ "$before" = "$(find . | sort)" ] || { echo "left behind by weft convert $*:"; find .; exit 1; }
}
touch stdout.txt stderr.txt

python3 make.py good.npz
expect 2 '--out' good.npz
expect 2 'did you mean weft-npz' good.npz --out o --format weft-nps
expect 2 '--split-index 3' good.npz --out o --split-index 3
expect 66 'absent.npz' absent.npz --out o
expect 66 'absent.npz' good.npz --out o --split absent.npz
expect 66 'is a folder' . --out o
expect 74 'mkdir -p' good.npz --out no/such/o

python3 make.py bad.npz edges=0,1,1,4,2,3
expect 65 'bad.npz[edges]: row 1: (1, 4): vertices are 0 to 3' bad.npz --out o
python3 make.py bad.npz labels=0,-7,1,1
expect 65 'bad.npz[labels]: row 1: -7' bad.npz --out o
python3 make.py bad.npz train=0,2
expect 65 'bad.npz[test]: vertex 2 is in train already' bad.npz --out o
python3 make.py bad.npz vertices=-1
expect 65 'bad.npz: no vertices' bad.npz --out o
head -c 700 good.npz >cut.npz
expect 65 'cut.npz: no zip end record: not an .npz file, or truncated' cut.npz --out o
python3 - <<'PY'
data = bytearray(open("good.npz", "rb").read())
data[data.index(b"edges.npy") + 9 + 128 + 3] ^= 1
open("flip.npz", "wb").write(data)
PY
expect 65 'flip.npz[edges]: wrong CRC' flip.npz --out o
printf 'v1,v2\none,two\n' >edges.csv
expect 65 'edges.csv' edges.csv --out o
printf '\x80\x02}q\x00.' >ind.cora.x
expect 65 'scripts/convert_planetoid' ind.cora.x --out o
: >empty.npz
expect 65 'empty.npz: is empty' empty.npz --out o
python3 -c 'import zipfile; zipfile.ZipFile("other.npz", "w").writestr("readme.txt", "hello")'
expect 65 'it holds: readme.txt' other.npz --out o

"$weft" convert good.npz --out kept -q
expect 2 '--force' good.npz --out kept
mkdir thesis
touch thesis/chapter
printf '0 1 2\nx\n' >unread.txt
expect 2 'is not a graph store' unread.txt --out thesis --force # before anything is read
expect 2 'is not a graph store' synth:community,n=300,e=3000 --out thesis --force
expect 2 'is not a graph store' good.npz --out thesis --force
"$weft" convert good.npz --out kept -q --force

# A full disk: every write beyond 4 KiB fails.
python3 make.py large.npz vertices=4000 labels="$(seq -s, 0 3999)"
got=0
(ulimit -f 4; trap '' XFSZ; exec "$weft" convert large.npz --out full -q) 2>stderr.txt || got=$?
[ "$got" -eq 74 ] || { echo "full disk: exit $got"; cat stderr.txt; exit 1; }
[ -z "$(find . -name 'full*')" ] || { echo "left behind on a full disk"; find .; exit 1; }

# A folder that may not be written: 77. Root may write anywhere but on a read-only file system.
mkdir locked
chmod a-w locked
if [ "$(id -u)" -ne 0 ]; then
  expect 77 'locked/o' good.npz --out locked/o
elif [ -d /proc/sys/kernel ] && ! touch /sys/kernel/weft 2>/dev/null; then
  expect 77 '/sys/kernel/o' good.npz --out /sys/kernel/o
fi
echo "all refused as they should"
