#!/bin/bash
# A rank that is stopped before, while and after MPI starts, or before it ends: the others leave within --stall-timeout, one
# of them says what it waited for and what to try, and the exit status is that of a stall.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need cc
work_folder

# Rank 1 stops itself where STOP_AT says. The calls of MPI are those of Open MPI, whose handles are pointers.
cat >stop.c <<'C'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
int PMPI_Init_thread(void *, void *, int, int *);
int PMPI_Comm_split_type(void *, int, int, void *, void *);
int PMPI_Finalize(void);
static void here(const char *name)
{
    const char *at = getenv("STOP_AT"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (at != NULL && strcmp(at, name) == 0 && rank != NULL && strcmp(rank, getenv("STOP_RANK")) == 0) {
        raise(SIGSTOP);
    }
}
int MPI_Init_thread(void *argc, void *argv, int wanted, int *given)
{
    here("MPI_Init");
    return PMPI_Init_thread(argc, argv, wanted, given);
}
int MPI_Comm_split_type(void *comm, int type, int key, void *info, void *made)
{
    here("MPI_Comm_split_type");
    return PMPI_Comm_split_type(comm, type, key, info, made);
}
int MPI_Finalize(void)
{
    here("MPI_Finalize");
    return PMPI_Finalize();
}
C
cc -shared -fPIC -o stop.so stop.c || skip "cc makes no shared library"
cat >start <<'S'
#!/bin/bash
[ "$STOP_AT" != start ] || [ "$OMPI_COMM_WORLD_RANK" != "$STOP_RANK" ] || kill -STOP $$
export LD_PRELOAD=$PWD/stop.so
exec "$@"
S
chmod +x start

# stopped WHERE RANK CALL TIMEOUT COMMAND...: how the job ends, and how long it took by its own account
stopped() {
    local where=$1 rank=$2 call=$3 limit=$4 got=0 told
    shift 4
    export STOP_AT=$where STOP_RANK=$rank
    timeout -k 5 100 mpirun --oversubscribe --bind-to none -np 3 ./start "$weft" "$@" >out 2>err || got=$?
    got=$(job_status "$got" <err)
    [ "$got" -eq 79 ] || fail "stopped at $where: exit $got: $(cat err)"
    grep -Eq "exit 79\] $call has not come back for [0-9.]+ s" err || fail "stopped at $where: $(cat err)"
    for advice in "state T" "btl_tcp_if_include" "weft doctor"; do
        grep -qF "$advice" err || fail "no advice '$advice': $(cat err)"
    done
    told=$(sed -n 's/.*not come back for \([0-9.]*\) s.*/\1/p' err | head -1)
    awk -v told="$told" -v limit="$limit" 'BEGIN {exit !(told >= limit && told <= 1.2 * limit + 20)}' ||
        fail "stopped at $where: told after $told s, the timeout is $limit s"
    echo "stopped at $where: told after $told s"
}
train=(train --data synth:quickstart,scale=0.001 --epochs 2 --threads 1 --calibrate never --quiet)
stopped start 1 MPI_Init 3 "${train[@]}" --run-dir a --stall-timeout 3
stopped start 0 MPI_Init 3 "${train[@]}" --run-dir b --stall-timeout 3
WEFT_STALL_TIMEOUT=2 stopped MPI_Init 0 MPI_Init 2 "${train[@]}" --run-dir c
# Here MPI has begun, and the others wait for the first thing they make of it together.
stopped MPI_Comm_split_type 2 "[a-zA-Z_ ]+" 2 "${train[@]}" --run-dir d --stall-timeout 2
stopped MPI_Finalize 1 MPI_[A-Za-z_]+ 2 "${train[@]}" --run-dir e --stall-timeout 2
# Commands that use a model wait as long as they are told, too.
for command in eval predict; do
    stopped MPI_Init 0 MPI_Init 2 $command --data synth:quickstart,scale=0.001 --checkpoint e --quiet --stall-timeout 2
done
# A command without the option has its default; one rank, and a job that is not stopped, have nothing to wait for.
unset STOP_AT STOP_RANK
timeout 60 mpirun --oversubscribe --bind-to none -np 3 "$weft" "${train[@]}" --run-dir f --stall-timeout 10 >out 2>err ||
    fail "a job that is not stopped: $(cat err)"
timeout 60 mpirun --oversubscribe -np 1 "$weft" "${train[@]}" --run-dir g --stall-timeout 10 >out 2>err || fail "$(cat err)"
"$weft" "${train[@]}" --run-dir h --stall-timeout 10 >out 2>err || fail "without mpirun: $(cat err)"
