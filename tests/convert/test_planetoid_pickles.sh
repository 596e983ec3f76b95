#!/bin/bash
# scripts/convert_planetoid refuses pickles that ask for anything but the nine harmless names, and runs nothing of them.
set -euo pipefail
source_dir=$2
command -v python3 >/dev/null || { echo "skipped: python3 is not available"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

expect() {
  local code=$1 text=$2 got=0
  "$source_dir/scripts/convert_planetoid" . evil out.npz >stdout.txt 2>stderr.txt || got=$?
  [ "$got" -eq "$code" ] || { echo "exit $got instead of $code"; cat stderr.txt; exit 1; }
  grep -qF -- "$text" stderr.txt || { echo "no '$text' in:"; cat stderr.txt; exit 1; }
  [ ! -e out.npz ] && [ ! -e ran ] || { echo "something was written"; ls; exit 1; }
}

expect 66 'ind.evil.x'
# os.system, builtins.eval, the copy_reg and extension back doors, a module attribute with a dot, damaged and empty files
printf 'cos\nsystem\n(S"touch ran"\ntR.' >ind.evil.x
expect 65 'os.system, which is not allowed'
printf '\x80\x02c__builtin__\neval\n(S"open(\\"ran\\", \\"w\\")"\ntR.' >ind.evil.x
expect 65 '__builtin__.eval, which is not allowed'
printf '\x80\x04\x8c\x05numpy\x8c\x09f2py.load\x93.' >ind.evil.x
expect 65 'numpy.f2py.load, which is not allowed'
printf '\x80\x02ccopy_reg\n_reconstructor\n.' >ind.evil.x
expect 65 'copy_reg._reconstructor, which is not allowed'
printf '\x80\x02\x82\x01.' >ind.evil.x
expect 65 'ind.evil.x'
printf '\x80\x02P1\n.' >ind.evil.x
expect 65 'ind.evil.x'
printf '\x80\x02}q\x00' >ind.evil.x
expect 65 'not a readable pickle'
: >ind.evil.x
expect 65 'not a readable pickle'
printf '\x80\x02}q\x00.' >ind.evil.x
expect 65 'another kind of object'

data=${WEFT_SHARED:-}/data/planetoid
if [ -d "$data" ]; then
  # One thing wrong at a time in a copy of Cora.
  fresh() {
    for file in "$data"/ind.cora.*; do
      cp "$file" "ind.evil.${file##*/ind.cora.}"
    done
    chmod u+w ind.evil.*
  }
  fresh
  echo 12x >>ind.evil.test.index
  expect 65 "ind.evil.test.index:1001: '12x' is not a vertex"
  fresh
  head -1 ind.evil.test.index >>ind.evil.test.index
  expect 65 'names a vertex twice'
  fresh
  head -c 20000 ind.evil.x >cut && mv cut ind.evil.x
  expect 65 'ind.evil.x: not a readable pickle'
  fresh
  cp ind.evil.tx ind.evil.allx
  expect 65 'disagree'
  fresh
  rm ind.evil.graph
  expect 66 'ind.evil.graph'
  fresh
  "$source_dir/scripts/convert_planetoid" . evil one.npz >/dev/null
  "$source_dir/scripts/convert_planetoid" . evil two.npz >/dev/null
  cmp one.npz two.npz
fi
echo "all refused as they should"
