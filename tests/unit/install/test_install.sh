#!/bin/bash
# Installs into a prefix with a space, moves it, then builds a small program and the first example by find_package and by
# pkg-config, and runs them.
set -eu
build=$(cd "$(dirname "$1")" && pwd)

setting() { sed -n "s/^$1:[^=]*=//p" "$build/CMakeCache.txt"; }

if [ -n "$(setting WEFT_SANITIZE)" ]; then
  echo "skipped: a sanitized library needs sanitized users"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first" >/dev/null
mkdir "$work/a place"
mv "$work/first" "$work/a place/prefix" # nothing in it may remember where it was installed
prefix="$work/a place/prefix"

mkdir "$work/user"
cat >"$work/user/user.c" <<'C'
#include <stdio.h>
#include <weft/status.h>

int main(void)
{
    printf("%s: %s\n", weft_status_name(WEFT_ERR_DATA), weft_status_text(WEFT_ERR_DATA));
    return weft_error_message()[0] != '\0';
}
C
cat >"$work/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(weft 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE weft::weft)
add_executable(train train.c)
target_link_libraries(train PRIVATE weft::weft)
CMAKE
cp "$2/docs/examples/01_train.c" "$work/user/train.c"
expected="WEFT_ERR_DATA: a data file is malformed"

check() { # TITLE PROGRAM
  local said
  said=$("$2")
  if [ "$said" != "$expected" ]; then
    echo "$1 says: $said"
    exit 1
  fi
  echo "$1: ok"
}

# The installed library trains: two lines, and the files of the run.
check_training() { # TITLE PROGRAM
  local run="$work/run of $1" said
  said=$("$2" "$run")
  if [[ ! $said =~ ^"test accuracy "0\.[0-9]+" after 20 epochs on 1 rank " ]] || [ "$(wc -l <<<"$said")" -ne 2 ]; then
    echo "$1: the example says: $said"
    exit 1
  fi
  for file in summary.json weights.npz predictions.npy; do
    [ -s "$run/$file" ] || { echo "$1: the example left no $file"; exit 1; }
  done
  echo "$1: example trains"
}

compiler=$(setting CMAKE_C_COMPILER)
cmake -S "$work/user" -B "$work/user/build" -G Ninja -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
  cmake --build "$work/user/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
check find_package "$work/user/build/user"
check_training find_package "$work/user/build/train"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name weft.pc)")
export PKG_CONFIG_PATH
# pkg-config quotes what has spaces, for a shell to read again.
for program in user train; do
  eval "\"$compiler\" -o \"$work/user/$program.pc\" \"$work/user/$program.c\" $(pkg-config --static --cflags --libs weft)"
done
check pkg-config "$work/user/user.pc"
check_training pkg-config "$work/user/train.pc"

"$prefix/bin/weft" --version >/dev/null
echo "installed program: ok"
