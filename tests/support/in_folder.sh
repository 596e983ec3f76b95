#!/bin/bash
# in_folder.sh [--one-processor] COMMAND...: a test, in a temporary folder of its own (TMPDIR) that is removed behind it: two
# mpirun that make and remove the same one get in each other's way. In memory where there is room: checkpoints need not reach
# a disk. --one-processor: on one, where the kernel puts the process that asks.
place=()
if [ "$1" = --one-processor ]; then
    shift
    place=(taskset -c "$(cut -d ' ' -f 39 /proc/self/stat)") # field 39: the processor
fi
base=/dev/shm
if [ ! -w $base ] || [ "$(df -k --output=avail $base | tail -n 1)" -lt 2000000 ]; then
    base=${TMPDIR:-/tmp}
fi
TMPDIR=$(mktemp -d "$base/weft-test-XXXXXX") || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
"${place[@]}" "$@"
