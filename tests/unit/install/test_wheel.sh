#!/bin/bash
# The two commands of docs/howto-python.md, from a checkout to a trained model: pip makes the wheel and installs it into an environment of its
# own, where a training by command, one within Python and one on two ranks have the same losses (scripts/test_wheel). Compiled code is
# that of this tree. Skipped where pip cannot fetch what builds the wheel.
# trees: release
# needs: mpirun
# timeout: 600
set -eu
build=$(cd "$(dirname "$1")" && pwd)
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
work_folder
python3 -m venv probe 2>/dev/null || skip "python3 makes no virtual environments"
timeout 60 probe/bin/pip download --quiet --retries 0 --dest fetched 'scikit-build-core>=0.10' 'numpy>=1.17' >out 2>&1 ||
    skip "pip fetches no scikit-build-core and NumPy"
export WEFT_KERNELS=$build WEFT_COMPILED='^src/app/cli/main' PIP_FIND_LINKS=$PWD/fetched
unset WEFT PYTHONPATH
ok "$source_dir/scripts/test_wheel" -C build-dir="$PWD/wheel"
grep -q "losses by command and within Python: equal; on two ranks" out || fail "$(cat out)"
echo "ok"
