#!/bin/bash
# Whole trainings on the backend cuda, its kernels on this CPU: the losses of --backend ref, on one rank, on two, and beside ranks
# without a device; memory and devices that do not suffice; and what a program for real cards says where there is none.
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
work_folder
export XDG_CACHE_HOME=$work/cache
quickstart=synth:quickstart,scale=0.004

# A program that was built with WEFT_CUDA=ON, on a machine without a card.
if "$weft" --version --verbose | grep -q '^CUDA: [1-9]' && ! nvidia-smi >/dev/null 2>&1; then
    "$weft" --version --verbose | grep -Eq '^NCCL: (not found$|.* found; not used: .* --gpu-direct$)' || fail "no word of NCCL"
    "$weft" train --data $quickstart --backend cuda >out 2>err
    [ $? -eq 69 ] || fail "no device: $(cat err)"
    grep -q "nvidia-smi.* or take the backend cpu" err || fail "no cure: $(cat err)"
    "$weft" info hardware >out 2>err || fail "info hardware: $(cat err)"
    grep -q '^GPUs: none: ' out || fail "info hardware: $(cat out)"
fi

shim=$weft
[ ! -x "$(dirname "$weft")/tests/weft_shim" ] || shim=$(dirname "$weft")/tests/weft_shim
"$shim" --version --verbose | grep -q '^CUDA: imitated' || skip "no program with the imitated device (WEFT_CUDA=SHIM)"
"$shim" --version --verbose | grep -q '^NCCL: not found$' || fail "NCCL: $("$shim" --version --verbose)"

losses() { sed -n 's/.*"loss": *\([0-9.e+-]*\).*/\1/p' "$1/metrics.jsonl"; }
same() { # FOLDER FOLDER: the same losses, of as many epochs
    [ "$(losses "$1" | wc -l)" -gt 1 ] || fail "$1: no losses"
    paste <(losses "$1") <(losses "$2") |
        awk '{d = $1 - $2; if (d < 0) d = -d; if (!(NF == 2 && d <= 1e-4 * $2)) bad = 1} END {exit bad}' ||
        fail "losses of $1: $(losses "$1" | tr '\n' ' ') of $2: $(losses "$2" | tr '\n' ' ')"
}

# ---- the losses of ref, kinds of models side by side ----
cat >small.net <<'NET'
conv 4 3 pad=1 bias=off
norm
relu
maxpool 2
dropout 0.2
linear classes
NET
sed '1s/^/conv 4 3 pad=1\nrelu\n/' small.net >three.net
graph=(train --data $quickstart --hidden 8 --epochs 3 --threads 1 --pin off --quiet)
images=(train --data synth:images,n=64,size=8,channels=3,classes=4,test=16 --model small.net --batch-size 32 --epochs 2
    --threads 1 --pin off --quiet)
pair() { # NAME OPTION...
    local name=$1 backend
    shift
    for backend in cuda ref; do
        "$shim" "$@" --backend $backend --run-dir "$name-$backend" >"$name.out" 2>"$name-$backend.err" || return 1
    done
}
pair image "${images[@]}" &
for model in sage gcn gat; do
    pair $model "${graph[@]}" --model $model &
done
pair max "${graph[@]}" --model sage --aggregator max &
wait
pair input "${graph[@]}" --model sage --precondition input & # second order: inverses, eigenvectors, products of matrices
pair kfac "${graph[@]}" --model gin --precondition kfac &
pair muon "${images[@]/small.net/three.net}" --precondition muon &
pair reduce "${images[@]}" --precondition kfac --precondition-form reduce --optimizer adadelta --lr 0.1 &
wait
for name in sage gcn gat max image input kfac muon reduce; do
    [ -e $name-ref/summary.json ] || fail "$name: $(cat $name-cuda.err $name-ref.err)"
    same $name-cuda $name-ref
done

# ---- two ranks, one device ----
if command -v mpirun >/dev/null; then
    ranks 2 "$shim" "${graph[@]}" --model sage --backend cuda --run-dir two >out 2>err || fail "2 ranks: $(cat err)"
    same two sage-cuda
    for model in sage gat; do # rows of vertices in device memory: the same bits, whether MPI takes them there or not
        for direct in 0 1; do
            WEFT_CUDA_SHIM_DIRECT=$direct ranks 3 "$shim" "${graph[@]}" --model $model --backend cuda --comm-thread on \
                --run-dir direct-$model-$direct >out 2>err || fail "3 ranks, direct $direct: $(cat err)"
        done
        cmp <(losses direct-$model-0) <(losses direct-$model-1) || fail "$model: rows straight from device memory"
    done
    grep -q '"gpu_rows": "straight to ' direct-sage-1/run.json || fail "straight: $(grep gpu_rows direct-sage-1/run.json)"
    grep -q '"gpu_rows": "through pinned host memory: ' direct-sage-0/run.json || fail "$(grep gpu_rows direct-sage-0/run.json)"
    WEFT_CUDA_SHIM_DIRECT=1 ranks 2 "$shim" "${graph[@]}" --model sage --backend cuda --gpu-direct off --run-dir off >out 2>err ||
        fail "direct off: $(cat err)"
    cmp <(losses two) <(losses off) || fail "--gpu-direct off"
    grep -q '"gpu_rows": "through pinned host memory: --gpu-direct off"' off/run.json || fail "$(grep gpu_rows off/run.json)"
    ranks 2 "$shim" "${images[@]}" --backend cuda --run-dir two-image >out 2>err || fail "2 ranks, images: $(cat err)"
    same two-image image-cuda
fi

# ---- a device that has what the plan foretells, and no more, has enough: all is taken in the first epoch ----
foretold() { # COMMAND...: bytes of a device that has them free, of which the plan leaves a twentieth
    "$@" --dry-run >out 2>err || fail "dry run of $*: $(cat err)"
    grep -q "scratch of operations *[0-9.]* MB" out || fail "$*: $(cat out)"
    sed -n "s/.*predicted peak of the GPU's memory *\([0-9.]*\) MB/\1/p" out | awk '{printf "%.0f", ($1 + 0.05) * 1e6 / 0.95}'
}
tight() { # COMMAND...
    local memory
    memory=$(foretold "$@") || exit 1
    WEFT_CUDA_SHIM_MEMORY=$memory "$@" --quiet --run-dir tight --force >out 2>err || fail "$memory bytes do not suffice for $*: $(cat err)"
}
small=(train --data synth:quickstart,scale=0.02 --hidden 16 --epochs 1 --threads 1 --pin off --feature-place device --backend cuda)
for model in sage gcn "sage --aggregator max" "gat --heads 4" "gatv2 --heads 4"; do
    [[ $model != gat* ]] || small=("${small[@]/scale=0.02/scale=0.01}") # as many bytes, by their heads
    # shellcheck disable=SC2086  # options of a model
    tight "$shim" "${small[@]}" --model $model
done
tight "$shim" "${images[@]}" --backend cuda
if command -v mpirun >/dev/null; then # top-k selects on the device
    (export WEFT_CUDA_SHIM_DEVICES=2 &&
        tight ranks 2 "$shim" "${small[@]}" --model sage --sync topk --topk-density 0.9) || exit 1
fi

# ---- features that a device cannot hold stay on the host, and pass through it in blocks ----
wide=(train --data synth:quickstart,scale=0.01 --recipe default --hidden 4 --epochs 3 --threads 1 --pin off)
streamed() { # NAME COMMAND...
    local name=$1
    shift
    WEFT_CUDA_SHIM_MEMORY=1100000 "$@" "${wide[@]}" --backend cuda --run-dir "$name" >"$name.out" 2>"$name.err" ||
        fail "$name: $(cat "$name.err")"
    grep -q "they stay on the host (--feature-place auto)" "$name.err" || fail "$name: $(cat "$name.err")"
}
"$shim" "${wide[@]}" --backend ref --quiet --run-dir wide-ref >out 2>err || fail "wide: $(cat err)"
streamed wide "$shim"
same wide wide-ref
if command -v mpirun >/dev/null; then
    streamed wide-two ranks 2 "$shim"
    same wide-two wide-ref
fi
for options in "gcn" "gat --heads 2 --input-dropout 0.2" "sgc --input-dropout 0.2"; do
    model=${options%% *}
    for backend in cuda ref; do
        # shellcheck disable=SC2086  # options of a model
        "$shim" "${wide[@]}" --quiet --model $options --feature-place host --backend $backend --run-dir host-$model-$backend \
            >out 2>err || fail "features on the host, $model: $(cat err)"
    done
    same host-$model-cuda host-$model-ref
done
"$shim" "${wide[@]}" --backend cuda --feature-place host --dry-run >out 2>err || fail "dry run: $(cat err)"
grep -q "^features: 250 KiB stay in pinned memory of the host, in blocks of 256 rows (64.0 KiB)$" out || fail "dry run: $(cat out)"

# ---- a rank with a device beside two without: the losses of one rank; what all do alike is chosen together ----
mixed() { # FOLDER OPTION...
    local folder=$1
    shift
    mpirun --oversubscribe --bind-to none -np 1 env WEFT_CUDA_SHIM_DEVICES=1 "$shim" "$@" --backend auto --run-dir "$folder" : \
        -np 2 env WEFT_CUDA_SHIM_DEVICES=0 "$shim" "$@" --backend auto --run-dir "$folder" >"$folder.out" 2>"$folder.err" ||
        fail "$folder: $(cat "$folder.err")"
}
close() { # FOLDER: its ranks' parameters parted by no more than rounding
    sed -n 's/.*"replica_drift": *\([0-9.e+-]*\).*/\1/p' "$1/summary.json" | awk '!($1 < 1e-5) {exit 1}' ||
        fail "$1: $(grep replica_drift "$1/summary.json")"
}
if command -v mpirun >/dev/null; then
    WEFT_CUDA_SHIM_DIRECT=1 mixed mixed-direct "${graph[@]}" --model sage
    grep -q '"gpu_rows": "straight to ' mixed-direct/run.json || fail "mixed: $(grep gpu_rows mixed-direct/run.json)"
    mixed mixed "${graph[@]}" --model sage
    cmp <(losses mixed) <(losses mixed-direct) || fail "mixed: rows straight from device memory"
    same mixed sage-ref
    grep -q '"backend": "cuda on 1 rank, cpu on 2"' mixed/run.json || fail "mixed: $(grep '"backend"' mixed/run.json)"
    ! grep -q "parted" mixed.out || fail "mixed: $(cat mixed.out)"
    mixed mixed-weights "${graph[@]}" --rank-weights 5,1,1
    same mixed-weights sage-ref
    mixed mixed-measured train --data $quickstart --hidden 8 --epochs 3 --threads 1 --pin off --rank-weights auto
    same mixed-measured sage-ref
    grep -q "rank weights (auto, measured): [0-9.]* [0-9.]* [0-9.]*$" mixed-measured.err || fail "$(cat mixed-measured.err)"
    mixed mixed-host "${graph[@]}" --model sage --feature-place host
    same mixed-host sage-ref
    mixed mixed-gat "${graph[@]}" --model gat
    same mixed-gat gat-ref
    mixed mixed-image "${images[@]}"
    ranks 3 "$shim" "${images[@]}" --backend cpu --run-dir three-image >out 2>err || fail "3 ranks, images: $(cat err)"
    same mixed-image three-image
    mixed mixed-wire "${graph[@]}" --wire bf16
    same mixed-wire sage-ref
    mixed mixed-topk "${graph[@]}" --sync topk --topk-density 0.1
    ranks 3 "$shim" "${graph[@]}" --backend cpu --sync topk --topk-density 0.1 --run-dir topk >out 2>err ||
        fail "3 ranks, topk: $(cat err)"
    same mixed-topk topk
    for name in mixed mixed-gat mixed-image mixed-wire mixed-topk; do
        close $name
    done
    mixed mixed-form train --data synth:quickstart,scale=0.3 --hidden 8 --epochs 1 --threads 1 --pin off
    grep -q "node .*: GPU 0 (imitated GPU at 0000:0a:00.0) for rank 0; backend cpu for rank 1, 2" mixed-form.err ||
        fail "devices of 3 ranks: $(cat mixed-form.err)"
    grep -q "form of aggregation: .*, measured" mixed-form.err || fail "forms: $(cat mixed-form.err)"
    mixed mixed-again train --data synth:quickstart,scale=0.3 --hidden 8 --epochs 1 --threads 1 --pin off
    grep -Eq "form of aggregation: .*remembered|nearly alike: timed once more, trial 2" mixed-again.err || fail "forms, again: $(cat mixed-again.err)"
    mixed mixed-dry "${graph[@]}" --dry-run
    grep -q "predicted peak of ranks without a GPU  *[0-9]" mixed-dry.out &&
        grep -q "predicted peak of the GPU's memory  *[0-9]" mixed-dry.out || fail "dry run: $(cat mixed-dry.out)"
fi

# ---- auto: each device has one rank; without any, and without code for them, the host computes ----
chosen() { # TEXT RANKS
    ranks "$2" "$shim" train --data $quickstart --threads 1 --backend auto --dry-run >out 2>err || fail "auto: $(cat err)"
    grep -q "$1" err || fail "no '$1' in $(cat err)"
}
if command -v mpirun >/dev/null; then
    (export WEFT_CUDA_SHIM_DEVICES=2 && chosen "GPU 0 (.*) for rank 0; GPU 1 (.*) for rank 1; backend cpu for rank 2$" 3) || exit 1
    (export WEFT_CUDA_SHIM_CAPABILITY=61 && chosen "node .*: backend cpu for rank 0, 1$" 2) || exit 1
fi
WEFT_CUDA_SHIM_DEVICES=0 "$shim" "${graph[@]}" --backend auto --run-dir auto-host >out 2>err || fail "auto: $(cat err)"
same auto-host sage-ref
grep -q '"backend": "cpu"' auto-host/run.json || fail "auto: $(grep '"backend"' auto-host/run.json)"

# ---- what does not suffice is told before anything is taken, with the cure ----
refused() { # STATUS BACKEND TEXT
    local status=$1 text=$3
    "$shim" "${graph[@]}" --backend "$2" --run-dir refused >out 2>err
    [ $? -eq "$status" ] || fail "$text: exit code is not $status: $(cat err)"
    grep -q -- "$text" err || fail "no '$text' in $(cat err)"
}
(export WEFT_CUDA_SHIM_MEMORY=100000 && refused 71 cuda "on a GPU of node .* would need .* are free there") || exit 1
(export WEFT_CUDA_SHIM_MEMORY=1100000 && graph=("${wide[@]}" --feature-place device) &&
    refused 71 cuda "are free there: --feature-place host keeps the features off it") || exit 1
(graph+=(--feature-place host --order aggregate-first) &&
    refused 2 cuda "--order aggregate-first needs the features of all neighbours on the device") || exit 1
(graph+=(--feature-place host --aggregator max) && refused 2 cuda "--aggregator max needs the features") || exit 1
(graph+=(--feature-place host --feature-form sparse) && refused 2 cuda "take --feature-form whole") || exit 1
(export WEFT_CUDA_SHIM_DEVICES=0 && refused 69 cuda "nvidia-smi and CUDA_VISIBLE_DEVICES, or take the backend cpu") || exit 1
(export WEFT_CUDA_SHIM_DEVICES=2 && refused 69 cuda:2 "there are 2 GPUs, 0 to 1") || exit 1
(export WEFT_CUDA_SHIM_CAPABILITY=61 && refused 69 cuda "CMAKE_CUDA_ARCHITECTURES=61") || exit 1
[ ! -e refused ] || fail "a refused job left a folder"
"$shim" "${graph[@]}" --backend cuda --dry-run >out 2>err || fail "dry run: $(cat err)"
grep -q "predicted peak of the GPU's memory  *[0-9]" out || fail "dry run: $(cat out)"
if [ "$shim" != "$weft" ]; then # the same without the backend
    "$weft" "${graph[@]}" --backend cuda >out 2>err
    [ $? -eq 69 ] && grep -q "cmake -DWEFT_CUDA=ON" err || fail "built without: $(cat err)"
fi

# ---- which device, told once a node ----
if command -v mpirun >/dev/null; then
    (export WEFT_CUDA_SHIM_DEVICES=2 && ranks 3 "$shim" train --data $quickstart --threads 1 --backend cuda --dry-run >out 2>err) ||
        fail "3 ranks, 2 devices: $(cat err)"
    grep -q "GPU 0 (imitated GPU at 0000:0a:00.0) for rank 0, 2; GPU 1 (imitated GPU at 0000:0b:00.0) for rank 1" err ||
        fail "devices of 3 ranks: $(cat err)"
fi
WEFT_CUDA_SHIM_DEVICES=2 "$shim" info hardware >out 2>err || fail "info hardware: $(cat err)"
grep -q "^GPU 1: imitated GPU at 0000:0b:00.0, compute capability 7.0, 2 processors, .* free, no ECC, reaches the memory of 0$" out ||
    fail "info hardware: $(cat out)"
WEFT_CUDA_SHIM_DEVICES=0 "$shim" info hardware >out 2>err && grep -q "^GPUs: none: no NVIDIA GPU was found" out ||
    fail "info hardware without a device: $(cat out err)"
