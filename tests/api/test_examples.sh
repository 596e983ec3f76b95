#!/usr/bin/env bash
# The examples of docs/examples run, and say what the program says about the same work.
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
examples=$(dirname "$weft")/examples
work_folder

# field NAME FILE: a number of a JSON file.
field() { sed -n "s/.*\"$1\": *\([-0-9.e+]*\).*/\1/p" "$2" | head -n 1; }

# 03: the ring, as written down in the example.
"$examples/03_store" ring.weft >03.out || fail "03_store"
diff - 03.out <<'TEXT' || fail "03_store says something else"
ring: 200 vertices, 400 edges, 2 features, 2 classes
vertex 0 hears from 1 199
TEXT
"$weft" info ring.weft --check >info.out 2>&1 || fail "weft info refuses the store: $(cat info.out)"

# 02: the same figure as the command's, for each method.
"$examples/02_partition" ring.weft 4 >02.out || fail "02_partition"
for method in random libra edgecut; do
    "$weft" partition ring.weft --parts 4 --method $method --save off --json >02.json || fail "weft partition"
    figure=$(printf '%.4f' "$(field replication_factor 02.json)")
    grep -q "^$method .*replication factor $figure," 02.out || fail "$method: not $figure: $(cat 02.out)"
done
"$examples/02_partition" absent.weft 2>02.err
[ $? -eq 66 ] || fail "02_partition: a store that is absent is exit 66"
grep -q absent.weft 02.err || fail "02_partition does not name the absent store"

# 01: the numbers of its summary and of the command; quiet; again into the same folder.
for again in 1 2; do
    "$examples/01_train" run >01.out 2>01.err || fail "01_train, time $again: $(cat 01.err)"
    [ ! -s 01.err ] || fail "01_train is not quiet: $(cat 01.err)"
done
[ "$(wc -l <01.out)" -eq 2 ] || fail "the library printed: $(cat 01.out)"
"$weft" train --data synth:quickstart,scale=0.02 --model sage --hidden 16 --epochs 20 --run-dir command -q >command.out ||
    fail "weft train"
said=$(sed -n 's/^test accuracy \([0-9.]*\) after 20 epochs on 1 rank .*/\1/p' 01.out)
summary=$(printf '%.4f' "$(field test_mean run/summary.json)")
command=$(printf '%.4f' "$(field test_mean command/summary.json)")
[ -n "$said" ] && [ "$said" = "$summary" ] && [ "$said" = "$command" ] ||
    fail "01_train says '$said', its summary $summary, the command $command"
cmp run/predictions.npy command/predictions.npy || fail "01_train and weft train predict differently"
# 04: answers in memory are those of the training; arrays as in weights.npz.
"$examples/04_predict" asked >04.out 2>04.err || fail "04_predict: $(cat 04.err)"
trained=$(sed -n 's/^trained: test //p' 04.out)
grep -q "^asked: test acc $trained, [0-9]* rows of [0-9]* logits$" 04.out || fail "04_predict: $(cat 04.out)"
[ "$trained" = "$(printf '%.4f' "$(field test_mean asked/summary.json)")" ] || fail "04_predict says $trained"
[ "$(grep -c begins 04.out)" -eq 6 ] || fail "04_predict: $(cat 04.out)"
for name in $(sed -n 's/^\(.*\):.*begins with.*/\1/p' 04.out); do
    python3 -m zipfile -l asked/weights.npz | grep -q "^$name.npy " || fail "04_predict: $name is not in weights.npz"
done
if command -v mpirun >/dev/null; then # MPI starts once, and serves the training and the answers
    ASAN_OPTIONS=detect_leaks=0 ranks 1 "$examples/04_predict" launched >launched.out 2>04.err || # MPI's own leaks are not the question
        fail "04_predict, launched: $(cat 04.err)"
    cmp 04.out launched.out || fail "04_predict, launched, says something else"
fi
"$examples/04_predict" /dev/null/x 2>04.err && fail "04_predict: a folder that cannot be"
echo "examples: ok"
