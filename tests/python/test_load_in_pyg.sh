#!/usr/bin/env bash
# python/load_in_pyg.py names the packages that are missing and how to install them. Needs python3.
# trees: release
set -euo pipefail
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in numpy torch torch_geometric; do
    mkdir "$package"
    : >"$package/__init__.py"
done
told() {
    local code=0
    PYTHONPATH="$work" PYTHONDONTWRITEBYTECODE=1 python3 "$source_dir/python/load_in_pyg.py" m.safetensors store \
        >out.txt 2>err.txt || code=$?
    [ "$code" -eq 69 ] || fail "exit $code instead of 69: $(cat err.txt)"
    [ ! -s out.txt ] || fail "something on stdout: $(cat out.txt)"
    ! grep -q Traceback err.txt || fail "a traceback: $(cat err.txt)"
    grep -qF -- "python3 -m pip install $1" err.txt || fail "not told to install $1: $(cat err.txt)"
}

# A package that cannot be imported, whether the machine has it or not.
echo 'raise ImportError("no such thing here")' >safetensors.py
told safetensors
grep -qF 'load_in_pyg.py: needs safetensors: no such thing here' err.txt || fail "no reason: $(cat err.txt)"
[ "$(wc -l <err.txt)" -eq 2 ] || fail "more than one package is named: $(cat err.txt)"
# Several at once.
echo 'raise ModuleNotFoundError("No module named torch")' >torch/__init__.py
told 'torch safetensors'
echo "what is missing is named"
