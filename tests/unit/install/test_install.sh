#!/bin/bash
# Installs into a prefix with a space, moves it, then builds a small program and the first example by find_package and by
# pkg-config, and runs them. What is installed must be made by the target weft alone, which is what scripts/quickstart builds
# (scripts/test_prefix installs from such a build).
set -eu
build=$(cd "$(dirname "$1")" && pwd)

setting() { sed -n "s/^$1:[^=]*=//p" "$build/CMakeCache.txt"; }

if [ -n "$(setting WEFT_SANITIZE)" ]; then
  echo "skipped: a sanitized library needs sanitized users"
  exit 77
fi
python3 - "$build" <<'CHECK'
import pathlib, re, subprocess, sys
build = pathlib.Path(sys.argv[1])
ninja = lambda *words: subprocess.run(["ninja", "-C", str(build), "-t", *words], capture_output=True, text=True, check=True).stdout
rules = dict(line.rsplit(": ", 1) for line in ninja("targets", "all").splitlines() if ": " in line)
inputs = set(ninja("inputs", "weft").splitlines())
made = {name for name, rule in rules.items() if rule == rules["weft"]} | inputs
wanted = re.findall(rf'"{re.escape(str(build))}/([^"]+)"', (build / "cmake_install.cmake").read_text())
whole = lambda name: name.split(".so")[0] + ".so" if ".so" in name else name  # links to a library are made with it
missing = [name for name in wanted if rules.get(name, "phony") != "phony" and whole(name) not in made and name != "weft"]
assert len(wanted) > 10 and "generated/weft.1" in wanted, wanted
assert not missing, f"installed, but not made by the target weft: {missing}"
CHECK

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first" >/dev/null
mkdir "$work/a place"
mv "$work/first" "$work/a place/prefix" # nothing in it may remember where it was installed
prefix="$work/a place/prefix"
for file in bin/weft share/man/man1/weft.1 share/bash-completion/completions/weft share/weft/python/weft/store.py \
  share/weft/python/load_in_pyg.py share/weft/slurm/weft.sbatch share/doc/weft/LICENSE share/doc/weft/README.md \
  share/doc/weft/docs/options.md share/doc/weft/docs/examples/01_train.c include/weft/trainer.h; do
  [ -s "$prefix/$file" ] || { echo "$file is not installed"; exit 1; }
done
[ -x "$prefix/share/weft/slurm/weft.sbatch" ]
cmp "$2/LICENSE" "$prefix/share/doc/weft/LICENSE"

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
add_executable(train_shared train.c)
target_link_libraries(train_shared PRIVATE weft::shared)
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
check_training "find_package, shared" "$work/user/build/train_shared"
readelf -d "$work/user/build/train_shared" | grep -q 'NEEDED.*libweft\.so\.0' || { echo "the shared library is not linked"; exit 1; }
if readelf -d "$work/user/build/train" | grep -q 'NEEDED.*libweft'; then echo "the archives are not linked"; exit 1; fi

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name weft.pc)")
export PKG_CONFIG_PATH
# pkg-config quotes what has spaces, for a shell to read again. --static, which archives once needed, may be given or not.
for program in user train; do
  eval "\"$compiler\" -o \"$work/user/$program.pc\" \"$work/user/$program.c\" $(pkg-config --cflags --libs weft)"
done
eval "\"$compiler\" -o \"$work/user/user.static\" \"$work/user/user.c\" $(pkg-config --static --cflags --libs weft)"
check "pkg-config --static" "$work/user/user.static"
check pkg-config "$work/user/user.pc"
check_training pkg-config "$work/user/train.pc"

# libweft.so exports what the headers declare, and nothing else; the package beside it finds program and library.
library=$(find "$prefix" -name libweft.so)
sed -n 's/^[a-z].*[ *]\(weft_[a-z_]*\)(.*/\1/p' "$2"/include/weft/*.h | sort >"$work/declared"
nm -D --defined-only "$library" | awk '{print $3}' | sort | diff "$work/declared" - || { echo "libweft.so exports other functions"; exit 1; }
if python3 -c 'import numpy' 2>/dev/null; then
  (cd "$work" && env -u WEFT PATH=/usr/bin:/bin PYTHONPATH="$prefix/share/weft/python" PYTHONDONTWRITEBYTECODE=1 "$(command -v python3)" - <<'PY'
import os
import weft
found = weft.doctor(quiet=True)
home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(weft.__file__))))))
assert all(os.path.realpath(found[name]).startswith(home + os.sep) for name in ("program", "library")), (home, found)
PY
  )
  echo "installed package for Python: ok"
fi

"$prefix/bin/weft" --version >/dev/null
echo "installed program: ok"
