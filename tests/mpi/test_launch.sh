#!/bin/bash
# Launches that starve or stack ranks: mpirun's default binding, and the popular cure that pins every rank to core 0.
# needs: mpirun
set -eu
program=$(dirname "$1")/tests/mpi_launch
if [ "$(nproc)" -lt 2 ]; then
  echo "skipped: one CPU cannot show bindings"
  exit 77
fi

run() { # TITLE EXPECTATION VARIABLE=VALUE -- mpirun options
  local title=$1 expectation=$2 setting=$3
  shift 3
  echo "== $title"
  env "$setting" mpirun "$@" "$program" "$expectation" 2>&1 | tee "$log" | grep -E "node here|warning|Failure|OK \]" || true
  if grep -q "FAILED" "$log" || ! grep -q "PASSED" "$log"; then
    cat "$log"
    exit 1
  fi
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
run "one rank, default binding (to one core)" healed WEFT_NOTHING=1 -np 1
run "one rank, OMP_NUM_THREADS ignored by the mask" healed OMP_NUM_THREADS=2 -np 1
run "two ranks, default binding" any WEFT_NOTHING=1 -np 2
run "two ranks, --bind-to none and OMP_PROC_BIND=true" healed OMP_PROC_BIND=true -np 2 --bind-to none -x OMP_PROC_BIND
grep -q "OMP_PROC_BIND=true binds the threads of every rank to the same cores" "$log" ||
  { echo "no warning about OMP_PROC_BIND"; exit 1; }
run "two ranks, --bind-to none" healed WEFT_NOTHING=1 -np 2 --bind-to none
