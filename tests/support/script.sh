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
