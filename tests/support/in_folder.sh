#!/bin/bash
# in_folder.sh COMMAND...: a test, in a temporary folder of its own (TMPDIR) that is removed behind it: two mpirun that make
# and remove the same one get in each other's way. In memory where there is room: checkpoints need not reach a disk.
base=/dev/shm
if [ ! -w $base ] || [ "$(df -k --output=avail $base | tail -n 1)" -lt 2000000 ]; then
    base=${TMPDIR:-/tmp}
fi
TMPDIR=$(mktemp -d "$base/weft-test-XXXXXX") || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
"$@"
