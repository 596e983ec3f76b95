#!/usr/bin/env bash
# Arrays that went wrong with users of other programs: masks, labels, byte orders, names of PyTorch Geometric, split folders of OGB.
# Each input of the shared cases gives the right value or is refused in words that lead to the cure.
# needs: mpirun
# trees: release asan
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
cases=${WEFT_SHARED:-$source_dir/../shared}/cases/inputs
[ -d "$cases/arrays" ] || skip "no cases at $cases"
cases=$(cd "$cases" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# bytes STORE/ARRAY.npy TYPE: its elements, od's TYPE, on one line.
bytes() {
    local length
    length=$((10 + $(od -An -tu2 -j8 -N2 "$1")))
    od -An -v -w100000 -t"$2" -j"$length" "$1" | tr -s ' ' | sed 's/^ //; s/ $//'
}

# is STORE/ARRAY.npy TYPE VALUES
is() {
    local got
    got=$(bytes "$1" "$2")
    [ "$got" = "$3" ] || fail "$1 is $got, expected $3"
}

says() {
    grep -qF -- "$1" log || { cat log; fail "no '$1'"; }
}

# ring OPTION...: the ring with features becomes the store s.
ring() {
    "$weft" convert "$cases/arrays/ring.csv" --features "$cases/arrays/x.npy" "$@" --out s --force >log 2>&1 || { cat log; fail "$*"; }
}

# refused CODE TEXT INPUT OPTION...: convert ends so, and leaves no store.
refused() {
    local code=$1 text=$2 got=0
    shift 2
    rm -rf s
    "$weft" convert "$@" --out s >log 2>&1 || got=$?
    [ "$got" -eq "$code" ] || { cat log; fail "exit $got instead of $code: $*"; }
    says "$text"
    [ ! -e s ] || fail "left behind: $*"
}

repeat() { # repeat WORDS COUNT
    local i
    for ((i = 0; i < $2; i++)); do printf '%s ' $1; done | sed 's/ $//'
}

arrays=$cases/arrays
labels="--labels $arrays/y.npy"
parts="$(repeat 0 12) $(repeat 1 6) $(repeat 2 6)"

# ---- labels ----
refused 65 'labels-plus-minus-one.npy: the labels are -1 and 1 alone' "$arrays/ring.csv" --labels "$arrays/labels-plus-minus-one.npy"
says 'save (labels > 0) as integers'
ring --labels "$arrays/labels-plus-minus-one.npy" --classes 2
is s/label.npy d4 "$(repeat '-1 1 1' 8)"
ring --labels "$arrays/labels-ignore-255.npy"
says '3 of 256 classes occur, 253 have no vertex (the first: 2); is 255 "ignore"?'
ring --labels "$arrays/labels-ignore-255.npy" --classes 256
! grep -F warning log | grep -vF 'no split' || fail "a warning in spite of --classes"
ring --labels "$arrays/labels-with-a-hole.npy"
says '3 of 1000001 classes occur'
ring --labels "$arrays/labels-one-hot.npy" --splits "$arrays/s.npy"
says 'every row has exactly one 1: classes?'
says 'argmax'
says '3 binary tasks'
ring --labels "$arrays/labels-big-endian.npy"
is s/label.npy d4 "$(repeat '0 1 2' 8)"
printf '1\n2\n%.0s' {1..12} >from-1.csv
ring --labels from-1.csv
says 'labels 1 to 2 are stored as 0 to 1 (--classes 3 keeps'
is s/label.npy d4 "$(repeat '0 1' 12)"
ring --labels from-1.csv --classes 5
is s/label.npy d4 "$(repeat '1 2' 12)"
grep -qF '"classes": 5' s/manifest.json
refused 65 'row 1: class 2, but --classes 2 allows 0 to 1' "$arrays/ring.csv" --labels from-1.csv --classes 2
refused 2 '--classes 3: ' "$arrays/ring.csv" --classes 3
refused 65 'argmax' "$arrays/ring.csv" --labels "$arrays/labels-one-hot.npy" --classes 3

# ---- scores that mean nothing ----
train() {
    "$weft" train --data s --epochs 2 --hidden 4 --threads 1 --run-dir r --force >log 2>&1 || { cat log; fail "train"; }
}
ring --labels "$arrays/labels-one-class.npy" --splits "$arrays/s.npy"
says 'every labelled vertex is of one class (0): there is nothing to learn'
train
says 'all labelled vertices of the training split are of one class: there is nothing to learn'
grep -qF 'nothing to learn' r/summary.json
ranks 2 "$weft" train --data s --epochs 2 --hidden 4 --threads 1 --run-dir r2 --force >log 2>&1
says 'all labelled vertices of the training split are of one class'
ring --labels "$arrays/labels-positive-or-unknown.npy" --splits "$arrays/s.npy"
says 'no task has both labels'
train
says 'Final Test: no task has both labels in the test split'
says 'no task has both labels in the validation and in the test split'
! grep -F 'no vertices in the' log || fail "the test split has vertices"
printf '0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n1\n%.0s' 1 >mostly.csv
printf '0\n%.0s' {1..12} >>mostly.csv # the test split holds class 0 alone
ring --labels mostly.csv --splits "$arrays/s.npy"
train
says 'is hardly better than'

# ---- masks ----
refused 65 'split-train-mask.npy: holds true and false alone: a mask of one part; which?' "$arrays/ring.csv" --splits "$arrays/split-train-mask.npy"
ring $labels --splits "$arrays/split-masks-3-by-n.npy"
says 'taken as the masks train, valid and test'
is s/split.npy u1 "$parts"
ring $labels --splits "$arrays/split-int-masks.npz"
is s/split.npy u1 "$parts"
"$weft" convert "$arrays/masks-n-by-k.npz" --out s --force 2>log
grep -qF '"splits": 3' s/manifest.json
is s/split.npy u1 "$(repeat "$parts" 3)"
if python3 -c 'import numpy' 2>/dev/null; then
    # Two arrays of one meaning, forms of sparse matrices, and options that are for text alone.
    python3 - <<'MAKE'
import numpy as np
n = 24
ring = np.stack([np.arange(n), (np.arange(n) + 1) % n])
np.savez("two.npz", features=np.ones((n, 1)), x=np.zeros((n, 1)))
for form in ("csr", "csc"):  # as scipy.sparse.save_npz writes them: the upper triangle of ones, or, read as CSC, the lower
    rows = [np.arange(v, n) for v in range(n)]
    offset = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    np.savez(form + ".npz", indices=np.concatenate(rows), indptr=offset, format=form.encode(), shape=(n, n),
             data=np.ones(offset[-1]))
np.savez("from1.npz", edge_index=ring[:, :-1] + 1)
np.savez("lists.npz", train=np.array([1, 2]), valid=np.array([3]), test=np.array([4, 24]))
MAKE
    "$weft" convert "$arrays/ring.csv" --features two.npz --out s --force 2>log
    says "two.npz: the array 'x' is left out, because 'features' is taken"
    is s/feature.npy f4 "$(repeat 1 24)"
    "$weft" convert "$arrays/ring.csv" --features csr.npz --out s --force 2>log
    grep -qF '"features": 24' s/manifest.json
    refused 65 "csc.npz[format]: 'csc': sparse features are read in CSR form: save matrix.tocsr()" "$arrays/ring.csv" --features csc.npz
    refused 2 'from1.npz: --first-id: only edge lists leave open what ids mean; pyg-npz says it itself (save edge_index - 1)' \
        from1.npz --first-id 1
    refused 2 'save numpy.unique(edge_index, return_inverse=True)' from1.npz --relabel
    "$weft" convert from1.npz --out s --force 2>log
    says 'where ids count from 1, edge_index - 1 in the file says so'
    seq 1 23 | awk '{ print $1, $1 + 1 }' >from1.txt
    "$weft" convert from1.txt --first-id 1 --splits lists.npz --out s --force 2>log
    is s/split.npy u1 "0 0 1 2 $(repeat 255 19) 2"
    export PYTHONPATH="$source_dir/python" PYTHONDONTWRITEBYTECODE=1
    [ "$(python3 "$cases/python/int_mask.py" 2>/dev/null)" = "[255 255   0   0   0   0]" ] || fail "int_mask.py"
    ! python3 -c 'import scipy' 2>/dev/null || python3 "$cases/python/sparse_features.py" 2>/dev/null | grep -qF "'features': 4" ||
        fail "sparse_features.py"
fi

# ---- names of PyTorch Geometric ----
"$weft" convert "$arrays/pyg-names.npz" --out pyg 2>log
says 'pyg-npz'
ring $labels --splits "$arrays/s.npy"
for array in offset source feature label split; do
    cmp s/$array.npy pyg/$array.npy || fail "pyg-names: $array"
done

# ---- OGB ----
ogb=$cases/ogb
refused 65 'ogb/two-splits/split: holds 2 splits, other and time: choose with --split-name other' "$ogb/two-splits"
"$weft" convert "$ogb/two-splits" --split-name time --out s --force 2>log
is s/split.npy u1 "$parts"
"$weft" convert "$ogb/two-splits" --split-name other --out s --force 2>log
is s/split.npy u1 "0 0 1 1 $(repeat 2 20)"
"$weft" convert "$ogb/two-splits" --splits "$arrays/s.npy" --out s --force 2>log
is s/split.npy u1 "$parts"
refused 2 'it has other and time' "$ogb/two-splits" --split-name tim
refused 2 '--split-name time: only OGB' "$arrays/ring.csv" --split-name time
"$weft" convert "$ogb/val-name" --out s --force 2>log
is s/split.npy u1 "$parts"
cp -r "$ogb/val-name" unlabelled
chmod -R u+w unlabelled
rm unlabelled/raw/node-label.csv
"$weft" convert unlabelled --out s --force 2>log
says 'no labels in the input and none given'
rm unlabelled/split/time/val.csv
refused 65 'split/time: lacks valid.csv.gz' unlabelled
mv unlabelled/split/time/test.csv unlabelled/split/time/validation.csv
cp unlabelled/split/time/validation.csv unlabelled/split/time/val.csv
refused 65 'two lists of the valid part' unlabelled

echo "arrays as they are meant"
