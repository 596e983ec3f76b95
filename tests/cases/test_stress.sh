#!/bin/bash
# Faults under stress: none of the shared cases (cases/stress) prints FAULT any more, and others of each kind end as they should.
# timeout: 120
# needs: mpirun
# trees: release
set -euo pipefail
weft=$(realpath "$1")
source_dir=$(realpath "$2")
. "$source_dir/tests/support/script.sh"
cases=$(realpath "${WEFT_SHARED:-$source_dir/../shared}")/cases/stress
[ -d "$cases" ] || skip "no cases at $cases"
need python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# case_of NAME: the shared script, which prints FAULT while the fault is there; its output is in $work/out.
case_of() {
    WEFT=$weft bash "$cases/$1".sh >out 2>&1 || true
    ! grep -q FAULT out || fail "$1: $(cat out)"
}

# says TEXT: the last case's output holds it.
says() {
    grep -qF -- "$1" out || fail "no '$1' in: $(cat out)"
}

# refused CODE TEXT ARGUMENTS...: weft ends so, and says so.
refused() {
    local code=$1 text=$2 status=0
    shift 2
    "$weft" "$@" -q >out 2>&1 || status=$?
    [ "$status" = "$code" ] || fail "weft $*: exit $status, expected $code: $(cat out)"
    says "$text"
}

# cut_while_training FILE BYTES COMMAND...: start it, cut the file once an epoch is done, and wait: exit 74, and the file's name.
cut_while_training() {
    local file=$1 bytes=$2 status=0
    shift 2
    rm -rf run
    "$@" --run-dir run -q >/dev/null 2>out &
    local pid=$!
    until [ -s run/metrics.jsonl ]; do
        kill -0 $pid 2>/dev/null || fail "$*: $(cat out)"
        sleep 0.05
    done
    truncate -s "$bytes" "$file"
    wait $pid || status=$?
    [ "$(job_status $status <out)" = 74 ] || fail "$file: exit $status, expected 74: $(cat out)"
    says "$file: was cut short while it was in use"
}

for name in 02-packed-tar-checksum 03-zeroed-header 06-mapped-file-cut 07-image-becomes-fifo 10-wrong-reader-blamed; do
    case_of $name
done
# The others of the folder: 01 and 04 are run by test_modes.sh, 05 and the lines of .net files of 11 by test_model.sh.

if unshare -m true 2>/dev/null; then
    case_of 08-cache-full-or-read-only
    says "full: exit 0"
    says "read-only: exit 0"
fi

if [ -x /usr/bin/time ]; then
    case_of 09-packed-bombs
    says "more than 9600 bytes of pixels"
    for kilobytes in $(sed -n 's/^\([0-9]*\) KB$/\1/p' out); do
        [ "$kilobytes" -lt 100000 ] || fail "09-packed-bombs: $kilobytes KB"
    done
fi

case_of 11-lines-and-names
says "11-pax-size.tar: top/train/a/q.jpg"

if command -v cc >/dev/null; then
    case_of 12-readdir-error
fi

# ---- others of their kinds ----

printf 'conv 4 3 pad=1\nnorm\nrelu\nglobalpool\nlinear classes\n' >tiny.net
python3 - <<'P'
import bz2, gzip, json, lzma, os, random, struct, tarfile, zipfile, zlib
random.seed(1)

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def png():
    raw = b"".join(b"\0" + random.randbytes(24) for _ in range(24))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 24, 24, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))

def put(name, data):
    with open(name, "wb") as f:
        f.write(data)

for c in "ab":
    os.makedirs("images/train/" + c)
    for i in range(8):
        put("images/train/%s/%d.png" % (c, i), png())
with tarfile.open("images.tar", "w") as t:
    t.add("images")
tar = open("images.tar", "rb").read()
for name, data in (("gz", gzip.compress(tar)), ("xz", lzma.compress(tar))):
    put("cut.tar." + name, data[:-5])
    for back in (2, 7):
        put("flipped%d.tar.%s" % (back, name), data[:-back] + bytes([data[-back] ^ 4]) + data[len(data) - back + 1:])
put("two.tar", tar + tar)
put("images.tar.bz2", bz2.compress(tar))
put("images.tar.zst", b"\x28\xb5\x2f\xfd" + bytes(40))
with zipfile.ZipFile("images.zip", "w") as z:
    z.write("images/train/a/0.png")
os.makedirs("cifar")
put("cifar/data_batch_1.bin", b"".join(bytes([i % 10]) + random.randbytes(3072) for i in range(500)))
os.makedirs("zeros")
put("zeros/data_batch_1.bin.gz", gzip.compress(bytes(3073 * 20000)))
put("edges.csv.bz2", bz2.compress(b"0,1\n1,2\n"))
put("edges.csv", "0,1\n1,2\n".encode("utf-16"))
put("edges.xlsx.txt", b"PK\3\4" + bytes(22) + b"\x13\0\0\0[Content_Types].xml" + bytes(30))
put("graph.gml", b"graph\n[\n  node\n  [ id 0 ]\n]\n")
put("graph.graphml.gz", gzip.compress(b"<?xml version='1.0'?>\n<graphml>\n</graphml>\n"))
put("page.csv", b"<!DOCTYPE html>\n<html>not found</html>\n")
put("x.pt", b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + bytes(40))
put("empty.csv.xz", lzma.compress(b""))
put("path.txt", b"0 1\n1 2\n2 3\n")
put("book.json", json.dumps({"num_parts": 2, "node_map": "x"}).encode())
put("part.txt", b"0\n1\n99999999999999999999\n0\n")
P

# A checksum of a packed archive, its loss, and a second archive behind the first.
for file in flipped2.tar.gz flipped7.tar.gz flipped2.tar.xz flipped7.tar.xz cut.tar.gz cut.tar.xz two.tar; do
    refused 65 "$file: " train --data $file --model tiny.net --epochs 1 --run-dir no
done

# What a file is, wherever it is named: graphs, images, and what is attached to a graph.
for command in "convert --out no" "train --model lenet --run-dir no --data" "train --run-dir no --data"; do
    refused 65 "images.tar.bz2: is a bzip2 archive: unpack it first" $command images.tar.bz2
    refused 65 "images.tar.zst: is a zstd archive: unpack it first" $command images.tar.zst
    refused 65 "images.zip: is a zip archive: unpack it first" $command images.zip
    refused 65 "x.pt: is a file of torch.save" $command x.pt
    refused 65 "page.csv: is an HTML page" $command page.csv
    refused 65 "empty.csv.xz: is empty" $command empty.csv.xz
done
for option in --features --labels --splits --edge-weights; do
    refused 65 "edges.csv.bz2: is a bzip2 archive: unpack it first" convert path.txt $option edges.csv.bz2 --out no
    refused 65 "edges.csv: is text in UTF-16" convert path.txt $option edges.csv --out no
done
refused 65 "edges.xlsx.txt: is a spreadsheet: write the table as CSV" convert edges.xlsx.txt --out no
refused 65 "graph.gml: is a GML file" convert graph.gml --out no
refused 65 "graph.graphml.gz: is a GraphML file" convert graph.graphml.gz --out no
[ ! -e no ] || fail "a refused job left a folder behind"

# What is unpacked counts for the limit on memory.
refused 65 "unpacks to more than 20.0 MiB: raise --memory-limit" train --data zeros --model tiny.net --memory-limit 20M --run-dir no

# Mapped files that are cut while they are in use, on one rank and two.
cut_while_training cifar/data_batch_1.bin 5000 ranks 2 "$weft" train --data cifar --model tiny.net --epochs 10000

# A cache folder that is no folder, or has something else under the file's name.
mkdir cache
touch plain
"$weft" train --data images --model tiny.net --epochs 1 --cache-dir plain/c --run-dir c0 >out 2>&1 || fail "$(cat out)"
says "this job keeps no images on disk"
"$weft" train --data images --model tiny.net --epochs 1 --cache-dir cache --run-dir c1 -q >out 2>&1 || fail "$(cat out)"
file=$(ls cache/*.cache)
for stranger in "ln -s plain" "mkfifo" "mkdir"; do
    rm -rf "$file"
    $stranger "$file"
    ranks 2 "$weft" train --data images --model tiny.net --epochs 1 --cache-dir cache --run-dir c2 --force >out 2>&1 || fail "$(cat out)"
    says "$file: "
    says "this job keeps no images on disk"
done

# Messages name the file that names another one, and the number as it stands there.
"$weft" convert path.txt --features degree --random-split 50/25/25 --out path.weft -q 2>out || fail "$(cat out)"
refused 66 "book.json: names an array that cannot be read: " partition path.weft --parts 2 --method ./book.json
refused 65 "part.txt: line 3: the number 99999999999" partition path.weft --parts 2 --method ./part.txt
