#!/usr/bin/env bash
# Every option of every command, generated from the table (weft generate json): good values are taken, bad ones refused
# with name, value and range; misspelt names get the nearest one; file, environment and command line in their order;
# options against each other. Needs python3. timeout: 600
# trees: release
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
PYTHONDONTWRITEBYTECODE=1 python3 "$source_dir/tests/app/option_checks.py" "$weft"
