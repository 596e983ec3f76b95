#!/bin/bash
# A graph network under --memory-limit: products come before sums where nothing else fits, with the same losses, a run
# goes on in that order, and what cannot fit at all is refused with its least need. Partial sums and maxima are planned.
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
work_folder
"$weft" convert synth:reddit,scale=0.05 --out store --quiet || fail "convert"

job() {
    "$weft" train --data store --model sage --hidden 16 --recipe default --norm none --input-dropout 0 --dropout 0 --threads 1 "$@"
}

predicted() { # megabytes, of a dry run
    job --epochs 1 --dry-run "$@" 2>log | awk '/predicted peak/ { print int($3) }'
}

losses() { grep -o 'Loss: [0-9.]*' "$1"; }

# ---- the order gives way ----
whole=$(predicted) || fail "dry run: $(cat log)"
limit=$((whole * 1000000)) # of which a twentieth stays free
small=$(predicted --memory-limit "$limit")
[ "$small" -lt $((whole * 9 / 10)) ] || fail "$small MB under a limit of $whole MB"
grep -q "order: products before sums" log || fail "no word of the order: $(cat log)"
told=$(predicted --order linear-first) # what the process holds at its start differs by a page or two
[ $((told - small)) -ge -1 ] && [ $((told - small)) -le 1 ] || fail "$small MB, $told with --order linear-first"

job --epochs 4 --spmm lists --run-dir free 2>free.log >out || fail "train: $(cat free.log)"
job --epochs 3 --memory-limit "$limit" --run-dir bound 2>bound.log >out || fail "train: $(cat bound.log)"
grep -q "form of aggregation: lists, as others may need more" bound.log || fail "no word of the form: $(cat bound.log)"
[ "$(losses free.log | head -3)" = "$(losses bound.log)" ] || fail "losses: $(losses free.log) by $(losses bound.log)"
job --epochs 4 --run-dir bound --resume 2>more.log >out || fail "resume: $(cat more.log)"
[ "$(losses free.log | tail -1)" = "$(losses more.log)" ] || fail "resumed: $(losses more.log)"

# A run that began otherwise keeps its order, and second order, which it would change, has none chosen for it.
code=0
job --epochs 5 --memory-limit "$limit" --run-dir free --resume 2>log >out || code=$?
[ "$code" -eq 71 ] || fail "a run that goes on under a limit: exit $code: $(cat log)"
code=0
job --epochs 1 --memory-limit "$limit" --precondition input --run-dir none 2>log >out || code=$?
[ "$code" -eq 71 ] || fail "second order under a limit: exit $code: $(cat log)"

# ---- a word is a word, and what cannot fit is refused ----
code=0
job --epochs 1 --memory-limit "$limit" --order aggregate-first --run-dir none 2>log >out || code=$?
[ "$code" -eq 71 ] || fail "aggregate-first beyond the limit: exit $code: $(cat log)"
code=0
job --epochs 1 --memory-limit 20M --run-dir none 2>log >out || code=$?
need=$(grep -o 'need at least [0-9.]* MiB' log | awk '{ print int($4) }')
[ "$code" -eq 71 ] && [ "$need" -le "$small" ] || fail "20 MiB: exit $code, need $need: $(cat log)"
[ ! -e none ] || fail "a refused job left a folder"

# ---- maxima: rows of partial ones are planned where a graph shares them, and give way where they do not fit ----
"$weft" convert synth:forum,scale=0.06,f=16,signal=0.3 --out forum --quiet || fail "convert"
summed() { # sums, or what an --aggregator among the options makes
    "$weft" train --model sage --layers 2 --threads 2 --epochs 2 --eval-every 0 --checkpoint-every 0 "$@"
}
largest() { summed --data forum --aggregator max "$@"; }
largest --hidden 4 --spmm shared --run-dir has 2>log >out || grep -q "this build has no shared sums" log || fail "maxima: $(cat log)"
grep -q "this build has no shared sums" log && exit 0
planned() { largest --dry-run "$@" 2>log | awk '/predicted peak/ { print int($3) }'; }

# Shared sums: reads that are left, and the search for them, are planned by a sample, and a bound is kept whatever is shared.
planned_sums() { # ranges in percent of what is held
    summed --data "$1" --hidden "$2" --spmm shared --dry-run 2>log >plan || fail "shared sums of $1: $(cat log)"
    plan=$(awk '/predicted peak/ { print int($3) }' plan)
    summed --data "$1" --hidden "$2" --spmm shared --run-dir "sums-$1-$2" 2>log >out || fail "shared sums of $1: $(cat log)"
    held=$(awk '/peak memory per rank/ { print int($5) }' out)
    [ $((100 * plan)) -ge $(($3 * held)) ] && [ $((100 * plan)) -le $(($4 * held)) ] ||
        fail "shared sums of $1, --hidden $2: $plan MB planned, $held MB held"
}
"$weft" convert synth:reddit,scale=0.05,f=16 --out little --quiet || fail "convert"
# The plan counts on lists, and tells what another form takes at most that auto may find quicker.
most=$(summed --data little --hidden 64 --dry-run 2>log | awk '/at most, by the form that auto measures/ { print int($(NF - 1)) }')
for form in rows tiles; do
    summed --data little --hidden 64 --spmm $form --run-dir "most-$form" 2>log >out || fail "--spmm $form: $(cat log)"
    held=$(awk '/peak memory per rank/ { print int($5) }' out)
    [ "$held" -le "${most:-0}" ] && [ $((100 * most)) -le $((140 * held)) ] || fail "--spmm $form: $held MB held, at most $most planned"
done
planned_sums forum 16 92 118
planned_sums forum 128 92 118
planned_sums little 16 84 118 # which shares little: the search holds most
for limit in 40 50 60; do
    summed --data forum --hidden 16 --memory-limit "${limit}M" --run-dir "sums-bound-$limit" 2>log >out || fail "sums under a limit: $(cat log)"
    held=$(awk '/peak memory per rank/ { print int($5) }' out)
    [ "$held" -le $((limit * 1048576 / 1000000)) ] || fail "sums under a limit of $limit MiB: $held MB"
done

for hidden in 16 256; do
    for form in shared auto; do
        plan=$(planned --hidden $hidden --spmm $form)
        largest --hidden $hidden --spmm $form --run-dir "max-$hidden-$form" 2>"max-$hidden-$form.log" >out || fail "maxima: $(cat "max-$hidden-$form.log")"
        held=$(awk '/peak memory per rank/ { print int($5) }' out)
        [ $((100 * plan)) -ge $((95 * held)) ] && [ $((100 * plan)) -le $((135 * held)) ] ||
            fail "maxima, --hidden $hidden --spmm $form: $plan MB planned, $held MB held"
    done
done
limit=$((plan * 1000000))
largest --hidden 256 --memory-limit "$limit" --run-dir max-bound 2>log >out || fail "maxima under a limit: $(cat log)"
grep -q "form of aggregation: lists, as others may need more" log || fail "no word of maxima along edges: $(cat log)"
held=$(awk '/peak memory per rank/ { print int($5) }' out)
[ "$held" -lt $((plan * 9 / 10)) ] || fail "maxima under a limit of $plan MB: $held MB"
[ -n "$(losses log)" ] && [ "$(losses max-256-auto.log | cut -c 1-11)" = "$(losses log | cut -c 1-11)" ] || fail "losses of maxima: $(losses log)"
code=0
largest --hidden 256 --spmm shared --memory-limit "$limit" --run-dir refused 2>log >out || code=$?
[ "$code" -eq 71 ] && grep -q -e "--spmm rows" log || fail "shared maxima beyond the limit: exit $code: $(cat log)"
