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

need_numpy() {
    need python3
    python3 -c 'import numpy' 2>/dev/null || skip "NumPy is not installed"
}

# work_folder: an empty folder of the test's own, $work, in which it goes on; it is gone when the test ends.
work_folder() {
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
    cd "$work" || exit 1
}

# ok COMMAND...: it must succeed; what it wrote stays in the files out and err.
ok() { "$@" >out 2>err || fail "$*: $(cat err)"; }

# refused CODE TEXT COMMAND...: it must end with this exit status, and say this text on stderr.
refused() {
    "${@:3}" >out 2>err
    [ $? -eq "$1" ] || fail "${*:3}: not refused with $1: $(cat err)"
    grep -qF -- "$2" err || fail "${*:3}: does not say '$2': $(cat err)"
}

# ranks COUNT COMMAND...: start a command on COUNT ranks of this machine.
ranks() {
    local count=$1
    shift
    mpirun --oversubscribe --bind-to none -np "$count" "$@"
}

# job_status STATUS <LOG: the exit status of a job of failed ranks, of mpirun's own status and of what it wrote. Open MPI 4.1's
# mpirun may crash after such a job, as it takes its own server of PMIx down: it has told the status of the rank by then.
job_status() {
    local log told
    log=$(cat)
    told=$(sed -n -E 's/^ *Exit code: *([0-9]+)$/\1/p; s/^with errorcode ([0-9]+)\.$/\1/p' <<<"$log" | tail -1)
    if [ "$1" -eq 139 ] && [ -n "$told" ] && grep -q "PMIx_server_finalize" <<<"$log"; then
        echo "mpirun crashed after a job of status $told" >&2
        echo "$told"
    else
        echo "$1"
    fi
}

# The shared data sets, or skip.
data_folder() {
    local folder="${WEFT_SHARED:-$source_dir/../shared}/data"
    [ -d "$folder/$1" ] || skip "no data sets at $folder/$1"
    echo "$folder"
}

# need_browser: a headless one for browse, or skip.
need_browser() {
    local name
    browser=
    for name in chromium chromium-browser google-chrome; do
        command -v $name >/dev/null && browser=$name && return
    done
    skip "no headless browser: install the package chromium"
}

# browse OPTION...: one page load in $work, without network, sandbox or the user's profile; it complains to browser.log.
browse() {
    timeout 100 "$browser" --no-sandbox --headless --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
        --force-device-scale-factor=1 --host-resolver-rules='MAP * ~NOTFOUND' "$@" 2>browser.log
}
