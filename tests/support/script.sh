# support/script.sh: helpers of the script tests. Sourced.

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

skip() {
    echo "skipped: $*"
    exit 77
}

need() {
    command -v "$1" >/dev/null || skip "$1 is not installed"
}

# ranks COUNT COMMAND...: start a command on COUNT ranks of this machine.
ranks() {
    local count=$1
    shift
    mpirun --oversubscribe --bind-to none -np "$count" "$@"
}

# The shared data sets, or skip.
data_folder() {
    local folder="${WEFT_SHARED:-$source_dir/../shared}/data"
    [ -d "$folder/$1" ] || skip "no data sets at $folder/$1"
    echo "$folder"
}
