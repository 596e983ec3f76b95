#!/bin/bash
# P ranks train as one does: losses of 20 epochs (30 of sage, 10 of other models) with dropout within 1e-4 relative, final test
# accuracy within one vertex, for every partitioner and model; with bf16 within 2e-2, of one rank and of float32.
# needs: mpirun
# timeout: 900
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
program=$(dirname "$weft")/tests/mpi_jobs
[ -x "$program" ] || skip "no $program"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Spelled, so that defaults chosen by the data do not move what is compared.
plain=(--hidden 16 --norm none --normalize none --dropout 0.5 --input-dropout 0.5 --weight-decay 0)
settings=("${plain[@]}")
"$weft" convert synth:quickstart,scale=0.03 --out "$work/plain" --quiet 2>"$work/convert.err" || fail "$(cat "$work/convert.err")"
data=$work/plain

# options RANKS METHOD MODEL FOLDER [OPTION...]: of one training, into the array `words`.
options() {
    words=(--data "$data" --model "$3" --partition "$2" --threads 1 --epochs "$epochs" --eval-every 10 --seed 3
        "${settings[@]}" --run-dir "$work/$4" "${@:5}")
}

# run NAME RANKS METHOD MODEL [OPTION...]: one of the jobs that mpi_jobs trains after each other, ranks started once.
run() {
    local words line= i
    options "$2" "$3" "$4" "$1" "${@:5}"
    for ((i = 0; i < ${#words[@]}; i += 2)); do
        line+="${words[i]#--}=${words[i + 1]} "
    done
    echo "$line" >>"$work/jobs-$2"
}

# launch NAME RANKS METHOD MODEL [OPTION...]: at once, by the command.
launch() {
    local words
    options "$2" "$3" "$4" "$1" "${@:5}"
    ranks "$2" "$weft" train --quiet "${words[@]}" >"$work/$1.out" 2>"$work/$1.err" || fail "$1: $(cat "$work/$1.err")"
}

# compare ONE MANY RANKS [TOLERANCE [VERTICES]]: when all have run.
compare() {
    echo "$1 $2 $3 $epochs ${4:-1e-4} ${5:-1}" >>"$work/pairs"
}

for model in sage gcn; do
    epochs=20 # rounding grows with epochs: sage goes on to 30
    [ "$model" = gcn ] || epochs=30
    run "$model-1" 1 random "$model"
    # Every method on every number of ranks, half of them with sage and half with gcn: what the models do differently depends on
    # neither.
    places="metis-3 metis-4 libra-2 libra-8 stream-3 random-8 edgecut-2 edgecut-4"
    [ "$model" = gcn ] || places="metis-2 metis-8 libra-3 libra-4 random-2 stream-4 edgecut-3 edgecut-8"
    for place in $places; do
        run "$model-$place" "${place#*-}" "${place%-*}" "$model"
        compare "$model-1" "$model-$place" "${place#*-}"
    done
    # Rounded to bfloat16 between layers: not by another sum alone, but once more for each replica.
    run "$model-narrow-1" 1 random "$model" --precision bf16
    run "$model-narrow-4" 4 random "$model" --precision bf16 --halo-overlap on
    compare "$model-1" "$model-narrow-1" 1 2e-2 8
    compare "$model-narrow-1" "$model-narrow-4" 4 2e-2 8
    # Rounded to fixed point, alike on any number of ranks.
    run "$model-fixed-1" 1 random "$model" --feature-rows i16
    run "$model-fixed-4" 4 libra "$model" --feature-rows i16 --halo-overlap on
    run "$model-fixed-3" 3 edgecut "$model" --feature-rows i16
    compare "$model-1" "$model-fixed-1" 1 2e-3 4
    compare "$model-fixed-1" "$model-fixed-4" 4 2e-3 4
    compare "$model-fixed-1" "$model-fixed-3" 3 2e-3 4
    run "$model-expand-3" 3 expand "$model"
    compare "$model-1" "$model-expand-3" 3
    # The default recipe: batch norm over all ranks, features scaled over all ranks.
    settings=(--recipe default)
    run "$model-default-1" 1 random "$model"
    run "$model-default-4" 4 libra "$model"
    compare "$model-default-1" "$model-default-4" 4
    settings=("${plain[@]}")
    # The halo behind the products: with and without a thread that moves it, the same bits.
    for thread in on off; do
        launch "$model-hidden-$thread" 4 metis "$model" --halo-overlap on --spmm lists --comm-thread "$thread"
        compare "$model-1" "$model-hidden-$thread" 4
    done
done
# Sums that nothing divides, hops one after the other, and what leads past layers.
epochs=10
for row in "gin" "gin --gin-eps learned" "sgc --layers 3" "sage --layers 4 --residual on --jumping max"; do
    read -r model options <<<"$row"
    name=$model-more-${options// /}
    # shellcheck disable=SC2086
    run "$name-1" 1 random "$model" $options
    for place in "libra 2" "edgecut 3" "metis 4" "random 5"; do
        read -r method count <<<"$place"
        # shellcheck disable=SC2086
        run "$name-$count" "$count" "$method" "$model" $options
        compare "$name-1" "$name-$count" "$count"
    done
done
# Maxima over split vertices: who won is decided over all parts.
run max-1 1 random sage --aggregator max
for place in "libra 2" "edgecut 3" "metis 4" "expand 2" "random 5"; do
    read -r method count <<<"$place"
    run "max-$method" "$count" "$method" sage --aggregator max
    compare max-1 "max-$method" "$count"
done
run max-narrow 4 libra sage --aggregator max --precision bf16
compare max-1 max-narrow 4 2e-2 8
# Edges that weigh: sums, degrees and both directions of the matrix; of a graph whose directions weigh alike, and of one without.
"$weft" convert "$work/plain" --to edge-list --out "$work/edges.txt" --quiet 2>"$work/convert.err"
for way in on off; do # the file has both directions of an edge
    awk -v way=$way '{ a = $1; b = $2; if (way == "on" && a > b) { a = $2; b = $1 } print $1, $2, (a * 31 + b * 17 + 5) % 9 / 4 }' \
        "$work/edges.txt" >"$work/weighted-$way.txt"
    "$weft" convert "$work/weighted-$way.txt" --vertices 3000 --symmetrize $way --edge-weights input --out "$work/weighted-$way" \
        --features "$work/plain/feature.npy" --labels "$work/plain/label.npy" --splits "$work/plain/split.npy" \
        --quiet 2>"$work/convert.err" || fail "$(cat "$work/convert.err")"
done
for model in sage gcn gin sgc; do
    data=$work/weighted-on
    run "$model-weighted-1" 1 random "$model"
    # Sums of gin and sgc are those of sage and gcn.
    places=("edgecut 3 --halo-overlap on" "metis 4")
    case $model in sage | gcn) places+=("libra 2" "random 5") ;; esac
    for place in "${places[@]}"; do
        read -r method count options <<<"$place"
        # shellcheck disable=SC2086
        run "$model-weighted-$count" "$count" "$method" "$model" $options
        compare "$model-weighted-1" "$model-weighted-$count" "$count"
    done
    data=$work/weighted-off
    run "$model-oneway-1" 1 random "$model"
    case $model in sage | gin) method=stream ;; *) method=libra ;; esac
    run "$model-oneway-3" 3 "$method" "$model"
    compare "$model-oneway-1" "$model-oneway-3" 3
done
data=$work/weighted-on
run ignored 1 random gcn --edge-weights off
data=$work/plain
# Attention over split vertices: dropout of edges by their ends, maxima and sums over all parts.
settings=(--hidden 4 "${plain[@]:2}" --heads 4 --out-heads 2 --attn-dropout 0.4)
for model in gat gatv2; do
    run "$model-1" 1 random "$model"
    for place in "libra 2" "random 3" "libra 4" "metis 4" "random 5"; do
        read -r method count <<<"$place"
        run "$model-$method-$count" "$count" "$method" "$model"
        compare "$model-1" "$model-$method-$count" "$count"
    done
done
# What attention sums is masked by its root, what it scores is not.
run gat-values-1 1 random gat --value-dropout 0.4
for place in "libra 2" "random 3" "metis 4"; do
    read -r method count <<<"$place"
    run "gat-values-$count" "$count" "$method" gat --value-dropout 0.4
    compare gat-values-1 "gat-values-$count" "$count"
done

for list in "$work"/jobs-*; do
    ranks "${list##*-}" "$program" "$list" >"$list.out" 2>"$list.err" || fail "$(tail -n 5 "$list.err")"
done
python3 - "$work" <<'PY' || fail "above"
import json, sys
work = sys.argv[1]

def losses(name):
    return [json.loads(line)["loss"] for line in open(f"{work}/{name}/metrics.jsonl")]

pairs = [line.split() for line in open(f"{work}/pairs")]
for one, many, ranks, epochs, tolerance, vertices in pairs:
    a, b = (losses(name) for name in (one, many))
    assert len(a) == len(b) == int(epochs), (many, len(a), len(b))
    worst = max(abs(x - y) / abs(x) for x, y in zip(a, b))
    assert worst <= float(tolerance), f"{many}: loss differs by {worst:.2e} relative"
    ends = [json.loads(open(f"{work}/{name}/metrics.jsonl").readlines()[-1])["test"] for name in (one, many)]
    tests = 750  # a quarter of 3,000 vertices
    assert abs(ends[0] - ends[1]) <= (int(vertices) + 0.001) / tests, (many, ends)
    summary = json.load(open(f"{work}/{many}/summary.json"))
    assert summary["ranks"] == int(ranks), (many, summary["ranks"])
    assert summary["allocations_after_first_epoch"] == 0, (many, summary["allocations_after_first_epoch"])
    print(f"{many}: loss within {worst:.1e}")
for model in ("sage", "gcn"):
    on, off = (losses(f"{model}-hidden-{thread}") for thread in ("on", "off"))
    assert on == off, ("bits depend on when messages arrive", model, list(zip(on, off)))
    lane = json.load(open(f"{work}/{model}-hidden-on/summary.json"))["lanes"]["halo"]
    assert 0 < lane["busy_s_avg"] and 0 <= lane["waited_s_avg"], lane
for off, on in (("ignored", "gcn-weighted-1"), ("gat-1", "gat-values-1")):
    off, on = (losses(name)[0] for name in (off, on))
    assert abs(off - on) > 1e-4, ("weights or dropout change nothing", off, on)
PY
echo "exact on every rank count"
