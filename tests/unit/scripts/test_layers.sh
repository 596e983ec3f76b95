#!/bin/bash
# scripts/check_layers finds what it looks for: a circle of calls through a header of the top folder, an include that
# climbs and a line of a comment that is too long, each put into a copy of the sources; the copy without them passes.
# trees: release
set -u
. "$2/tests/support/script.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r --parents "$2"/{scripts/check_layers,src,gnn,dense,comm,partition} "$work" || fail "cannot copy the sources"
tree=$work$2
mkdir "$tree/tests" && touch "$tree/tests/long.c"

check() # what, file, line to add: check_layers must name $4
{
    cp "$tree/$2" "$work/kept"
    printf '%s\n' "$3" >>"$tree/$2"
    "$tree/scripts/check_layers" >"$work/out" && fail "$1 is not found"
    grep -qF -- "$4" "$work/out" || { cat "$work/out"; fail "$1: no word of $4"; }
    cp "$work/kept" "$tree/$2"
}

"$tree/scripts/check_layers" >"$work/out" || { cat "$work/out"; fail "the sources as they are do not pass"; }
check "a call from comm/core into comm/group" comm/core/layout.c \
    'weft_status layout_again(weft_comm *comm) { return comm_agree(comm, WEFT_OK); }' \
    "comm/core -> comm/group (comm/core/layout.c calls comm_agree)"
check "an include that climbs" src/hal/core/hal_common.c '#include "comm/comm.h"' "hal must not know comm"
check "a long comment" tests/long.c "/* $(printf 'word %.0s' {1..25})*/" "a comment ends at column 130"
"$tree/scripts/check_layers" >"$work/out" || { cat "$work/out"; fail "the copy is not as before"; }
echo "check_layers: a circle of calls, a climbing include and a long comment are found"
