#!/bin/bash
# Options of launchers, of other programs for graphs, trees and searches: each is one of ours, or is answered with ours, or with why
# there is none (tests/app/neighbours.txt).
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
work_folder
count=0
while IFS='|' read -r who says options; do
    read -r program command <<<"$who"
    says=$(sed 's/^ *//; s/ *$//' <<<"$says")
    for option in $options; do
        "$weft" "$command" "--$option" >out 2>err </dev/null && fail "$program: weft $command --$option succeeds"
        if [ "$says" = "=" ]; then
            grep -q "unknown option" err && fail "$program: $(cat err)"
        else
            grep -qF -- "unknown option --$option: $says" err || fail "$program: expected '$says': $(cat err)"
        fi
        count=$((count + 1))
    done
done < <(grep -v '^#' "$source_dir/tests/app/neighbours.txt")
[ $count -gt 300 ] || fail "only $count options were tried"
echo "$count options: ok"
