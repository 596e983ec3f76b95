#!/bin/bash
# Installs into a prefix with a space, moves it, then builds and runs a small program by find_package and by pkg-config.
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
CMAKE
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

compiler=$(setting CMAKE_C_COMPILER)
cmake -S "$work/user" -B "$work/user/build" -G Ninja -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
  cmake --build "$work/user/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
check find_package "$work/user/build/user"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name weft.pc)")
export PKG_CONFIG_PATH
# pkg-config quotes what has spaces, for a shell to read again.
eval "\"$compiler\" -o \"$work/user/by_pkg_config\" \"$work/user/user.c\" $(pkg-config --static --cflags --libs weft)"
check pkg-config "$work/user/by_pkg_config"

"$prefix/bin/weft" --version >/dev/null
echo "installed program: ok"
