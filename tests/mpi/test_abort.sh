#!/bin/bash
# A rank that fails, and a rank that never comes, end the whole job: with the right exit status, soon, and with a last line
# that reaches the terminal.
# needs: mpirun
set -u
. "$2/tests/support/script.sh"
program=$(dirname "$1")/tests/mpi_abort
need mpirun
[ -x "$program" ] || skip "no $program"
failures=0
expect() { # kind, exit status, text of the last line
    local started=$SECONDS output code
    output=$(timeout 50 mpirun --oversubscribe --bind-to none -np 3 "$program" "$1" 2>&1)
    code=$(job_status $? <<<"$output")
    if [ $code -ne "$2" ] || ! grep -q "$3" <<<"$output"; then # who waits for the sleeper of a minute has the status 124
        echo "$1: exit status $code (expected $2) after $((SECONDS - started)) s:"
        echo "$output"
        failures=1
    fi
}
expect abort 65 'rank 1.*row 17 is bad'
expect stall 79 'rank [02], lane control, barrier, token, round [12] of 3: no message from rank'
exit $failures
