#!/usr/bin/env bash
# scripts/run_benchmark on generated graphs of the five data sets: raw files in each layout, store, partition, training on two
# ranks, the table; what is kept is used again; the job script; refusals.
# needs: mpirun
set -euo pipefail
weft=$(realpath "$1")
source_dir=$2
. "$source_dir/tests/support/script.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export TMPDIR=$work XDG_CACHE_HOME=$work/cache OMP_WAIT_POLICY=passive OMPI_MCA_rmaps_base_oversubscribe=1
short=(--hidden 8 --threads 1 --pin off --quiet)

while read -r name scale ranks; do
    "$source_dir/scripts/run_$name" --synth --scale "$scale" --work "$name" --ranks "$ranks" --weft "$weft" -- "${short[@]}" \
        --epochs 2 >out 2>err </dev/null || fail "run_$name: $(tail -5 err)"
    [ "$(grep -c '^| ' out)" -eq 2 ] && grep -qE "^\| $name \| [a-z0-9-]+ \| $ranks \| [0-9]+\.[0-9]+ \| - \|" out ||
        fail "$name: $(cat out)"
    [ -d "$name/raw/$name" ] || fail "$name keeps no raw files"
done <<'SETS'
reddit 0.003 1
arxiv 0.01 2
products 0.0005 1
proteins 0.006 1
papers100m 0.00001 2
SETS
compgen -G "arxiv/arxiv.weft/partition-auto-2-*" >/dev/null &&
    compgen -G "papers100m/papers100m.weft/partition-expand-2-*" >/dev/null || fail "no partition is kept"
[ -f proteins/raw/proteins/raw/edge-feat.csv.gz ] && [ -f papers100m/raw/papers100m/raw/data.npz ] &&
    [ -f reddit/raw/reddit/reddit_graph.npz ] || fail "not the layouts of the data sets"

# Raw files in the place of --synth, with the store that is there by now; the published score beside it.
touch mark
"$source_dir/scripts/run_benchmark" arxiv arxiv/raw/arxiv --work arxiv --ranks 2 --weft "$weft" -- "${short[@]}" \
    --epochs 3 >out 2>err || fail "raw files: $(tail -5 err)"
grep -qF "| 71.74 ± 0.29 | OGB, GCN 3x256 |" out || fail "no published score: $(cat out)"
[ -z "$(find arxiv/arxiv.weft -newer mark -name '*.npy')" ] || fail "the store is made again"

"$source_dir/scripts/run_products" "raw files" --ranks 64 --slurm -- --runs 2 >job.sh
bash -n job.sh && grep -qx '#SBATCH --ntasks=64' job.sh || fail "job: $(cat job.sh)"
grep -qF 'raw\ files' job.sh && ! grep -q -- --slurm job.sh && [ ! -d benchmark-products ] || fail "job: $(cat job.sh)"

refused() { # refused TEXT ARGUMENT...
    local text=$1
    shift
    "$source_dir/scripts/run_benchmark" "$@" >out 2>&1 && fail "not refused: $*"
    grep -qF -e "$text" out || fail "$*: $(cat out)"
}
refused "no benchmark cora" cora --synth
refused "where are the raw files" arxiv
refused "a number from 1 on" arxiv --synth --ranks 0
