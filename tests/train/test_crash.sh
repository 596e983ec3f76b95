#!/bin/bash
# Any rank is killed at any moment: start, training, checkpoint, end. The job ends soon, one message names the
# killed rank, and --resume, however often, ends with the bits of a run that nobody disturbed.
# 10 kills; WEFT_LONG=1: 30. WEFT_SEED=N repeats a sequence. Moments that come after the end of a run kill nobody and do
# not count.
# needs: mpirun
# timeout: 600
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
work_folder
export XDG_CACHE_HOME=$work/cache
kills=10
[ -n "${WEFT_LONG:-}" ] && kills=30
seed=${WEFT_SEED:-$RANDOM}
RANDOM=$seed
echo "seed $seed"
count=2
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail convert
"$weft" partition store --parts $count --quiet >out || fail partition
train() { ranks $count "$weft" train --data store --threads 1 --norm batch --hidden 32 --epochs 15 --runs 2 --quiet "$@"; }

began=$EPOCHREALTIME
train --run-dir whole --checkpoint-every 1 >out 2>err || fail "undisturbed: $(cat err)"
whole_ms=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
start_ms=$((whole_ms * 6 / 10 < 900 ? whole_ms * 6 / 10 : 900))
lines() { sed 's/"eval_s.*//; s/"epoch_s.*//' "$1/metrics.jsonl"; }

# The pids of this job's ranks: children of mpirun that run weft.
ranks_of() {
    local child
    for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
        [ "$(cat "/proc/$child/comm" 2>/dev/null)" = weft ] && echo "$child"
    done
}

hits=0
run=0
done_with() { # the run is complete: compare, and begin another
    cmp whole/weights.npz "run$run/weights.npz" && cmp whole/predictions.npy "run$run/predictions.npy" &&
        [ "$(lines whole)" = "$(lines "run$run")" ] || fail "seed $seed: run $run ends otherwise than the undisturbed one"
    run=$((run + 1))
}
# Wait for a moment of the run, while it lasts: its very start, a line of metrics, a checkpoint being written, its end.
moment_of() {
    local folder=run$run now=0 goal
    now=$(cat "$folder/metrics.jsonl" 2>/dev/null | wc -l)
    case $1 in
    start) ;;
    training) goal=$((now + 1 + RANDOM % (epochs - now + 1))) ;;
    checkpoint) goal=$((now + 1 + RANDOM % 5)) ;;
    end) goal=$epochs ;;
    esac
    while [ "$1" != start ] && kill -0 "$shell" 2>/dev/null; do
        mapfile -t now < <(cat "$folder/metrics.jsonl" 2>/dev/null)
        if [ "${#now[@]}" -ge "$goal" ]; then
            [ "$1" = checkpoint ] || break
            compgen -G "$folder/ckpt/*.tmp-*" >/dev/null && break
        fi
    done
    [ "$1" = checkpoint ] || sleep "0.$(printf '%03d' $((RANDOM % ($2 + 1))))"
}
moments=(start training checkpoint end training)
epochs=30
for ((attempt = 1; hits < kills && attempt <= 5 * kills; ++attempt)); do
    moment=${moments[attempt % 5]}
    (train --run-dir "run$run" --resume --checkpoint-every 1 >out 2>err) &
    shell=$!
    moment_of "$moment" "$([ "$moment" = start ] && echo "$start_ms" || echo 30)"
    launcher=$(pgrep -P "$shell" mpirun)
    victims=($(ranks_of "${launcher:-0}"))
    victim=""
    if [ "${#victims[@]}" -gt 0 ]; then
        victim=${victims[RANDOM % ${#victims[@]}]}
        kill -KILL "$victim" 2>/dev/null || victim=""
    fi
    killed=$EPOCHREALTIME
    code=0
    wait "$shell" || code=$?
    took=$(((${EPOCHREALTIME/./} - ${killed/./}) / 1000))
    where=$(cat "run$run/metrics.jsonl" 2>/dev/null | wc -l)
    echo "attempt $attempt ($moment): epoch $where of $epochs, victim ${victim:-none}: exit $code, over in $took ms"
    if [ -z "$victim" ]; then # before the ranks were there, or after
        [ "$code" -eq 0 ] || fail "seed $seed: nobody was killed, but exit $code: $(cat err)"
    else
        hits=$((hits + 1))
        [ "$code" -ne 0 ] || [ -e "run$run/weights.npz" ] || fail "seed $seed: a rank was killed, but exit 0"
        # With the code of a rank that had done its work already the kill came after the end.
        [ "$code" -eq 137 ] || [ "$code" -eq 0 ] || fail "seed $seed: exit $code: $(cat err)"
        [ "$took" -lt 60000 ] || fail "seed $seed: over only after $took ms: $(cat err)"
        [ "$code" -eq 0 ] || [ "$(grep -ciE 'signal 9|\(Killed\)' err)" -eq 1 ] || fail "seed $seed: not told once: $(cat err)"
        ! grep -q "weft: error" err || fail "seed $seed: another cause is told as well: $(cat err)"
    fi
    [ "$code" -ne 0 ] || done_with
done
[ "$hits" -eq "$kills" ] || fail "seed $seed: $hits kills in $((attempt - 1)) attempts: the runs end too soon"
train --run-dir "run$run" --resume --checkpoint-every 1 >out 2>err || fail "seed $seed: the last start: $(cat err)"
done_with
echo "$hits kills, $run runs, all as undisturbed"
