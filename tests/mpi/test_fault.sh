#!/bin/bash
# A rank that is killed, stopped, that leaves, plans otherwise or fails: all ranks end soon, with the right exit status,
# nothing hangs, and the cause is told once.
# needs: mpirun
set -u
. "$2/tests/support/script.sh"
program=$(dirname "$1")/tests/mpi_fault
need mpirun
[ -x "$program" ] || skip "no $program"
failures=0
expect() { # kind, exit status, text of the cause, [thread]; one that does not end has the status 124
    local started=$SECONDS output code took causes
    output=$(timeout -k 5 100 mpirun --oversubscribe --bind-to none -np 4 "$program" "$1" ${4:-} 2>&1)
    code=$(job_status $? <<<"$output")
    took=$((SECONDS - started))
    last=$output
    causes=$(grep -c '^weft: error' <<<"$output")
    if [ "$code" -ne "$2" ] || ! grep -Eq "$3" <<<"$output" || [ "$causes" -gt 1 ]; then
        echo "$1 ${4:-}: exit status $code (expected $2) after $took s, $causes causes:"
        echo "$output"
        failures=1
    else
        echo "$1 ${4:-}: exit status $code after $took s"
    fi
    if pgrep -f "^$program $1" >/dev/null; then
        echo "$1 ${4:-}: left ranks behind"
        failures=1
    fi
}
# The speaker's own measure of the last expect: 1.2 stall timeouts, and 5 s for a busy machine: less than one timeout for each rank.
in_time() { # stall timeout
    local still
    still=$(sed -n 's/.*moved for \([0-9.]*\) s.*/\1/p' <<<"$last")
    awk -v still="$still" -v timeout="$1" 'BEGIN {exit !(still != "" && still <= 1.2 * timeout + 5)}' || {
        echo "a stall timeout of $1 s is told after '$still' s: $last"
        failures=1
    }
}
for thread in "" thread; do
    expect none 0 '^$|' $thread
    expect kill 137 'signal 9|killed' $thread
    expect stop 79 'rank 1 of 4 does not answer' $thread
    in_time 2
    expect lose 79 'all 4 ranks answer.*Most likely a connection between two ranks broke' $thread
    in_time 2
    expect error 74 'a connection to another rank was lost, or that rank has ended: MPI_Testsome failed' $thread
    expect leave 1 'exit' $thread
    expect plan 70 'bucket' $thread
    expect data 65 'rank 1.*row 17 is bad' $thread
done
exit $failures
