#!/usr/bin/env bash
# The program's own answers: what goes to stdout and to stderr, exit codes, docs/options.md, completion, and one voice for a
# job of several ranks.
set -u
weft=$1
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect CODE COMMAND...: runs it with its output in $work/out and $work/err.
expect() {
    local code=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    local got=$?
    [ "$got" -eq "$code" ] || fail "exit $got instead of $code: $*"
}

says() { grep -qF -- "$1" "$work/err" || fail "stderr lacks \"$1\": $(cat "$work/err")"; }
prints() { grep -qF -- "$1" "$work/out" || fail "stdout lacks \"$1\": $(head -c 300 "$work/out")"; }
silent_out() { [ ! -s "$work/out" ] || fail "stdout is not empty: $(head -c 300 "$work/out")"; }
silent_err() { [ ! -s "$work/err" ] || fail "stderr is not empty: $(head -c 300 "$work/err")"; }

# An empty element of the search path would be the current folder: anybody's libraries.
path=$(readelf -d "$weft" | sed -n 's/.*R\(UN\)\?PATH.*\[\(.*\)\]/\2/p')
case ":$path:" in
::) ;;
*::*) fail "libraries are looked for in the current folder: $path" ;;
esac

expect 2 "$weft"
silent_out
says "Usage: weft COMMAND"
expect 0 "$weft" --help
silent_err
prints "Usage: weft COMMAND"
expect 0 "$weft" help train
prints "Usage: weft train"
for command in train partition convert bench info; do
    expect 0 "$weft" "$command" --help
    silent_err
    prints "Usage: weft $command"
    expect 0 "$weft" "$command" --print-config
    silent_err
done
printf '\357\273\277[model]\nhidden = 33\n' >"$work/some.conf"
WEFT_LR=0.25 expect 0 "$weft" train --config "$work/some.conf" --run-dir 'a "b"' --print-config
silent_err
for line in "hidden = 33" "lr = 0.25" 'run-dir = "a ""b"""' "#layers = 2"; do
    grep -qxF "$line" "$work/out" || fail "--print-config lacks: $line"
done
expect 66 "$weft" train --config "$work/none.conf" --print-config
says "none.conf"
expect 0 "$weft" --help=exit-codes
prints "137"
expect 0 "$weft" train --help=model
prints "--hidden"
expect 2 "$weft" train --help=modle
says "did you mean --help=model?"
expect 0 "$weft" --version
silent_err
[ "$(wc -l <"$work/out")" -eq 1 ] || fail "--version prints more than one line"
expect 0 "$weft" --version -v
prints "compiler: "
prints "instruction sets: "
prints "zlib: "
expect 2 "$weft" trian
silent_out
says "did you mean weft train?"
expect 2 "$weft" train --hiden 3
silent_out
says "unknown option --hiden: did you mean --hidden?"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "a usage error takes more than one line"
expect 2 "$weft" --threads 2 train
says "the command comes first"
expect 2 "$weft" generate
expect 2 "$weft" train --quiet --verbose
expect 74 sh -c '"$1" generate man >/dev/full' sh "$weft"
says "standard output"
expect 66 "$weft" train --config "$work/absent"
says "$work/absent"
printf 'lr = fast\n' >"$work/a.conf"
expect 2 "$weft" train --config "$work/a.conf"
says "a.conf: line 1: lr = fast: not a number"
expect 2 env WEFT_HIDEN=1 WEFT_SHARED=x WEFT_CACHE=y "$weft" partition
expect 2 env WEFT_HIDEN=1 WEFT_SHARED=x WEFT_CACHE=y "$weft" train --config "$work/a.conf"
says "did you mean WEFT_HIDDEN?"
grep -qE "WEFT_(SHARED|CACHE)" "$work/err" && fail "warns about WEFT_SHARED or WEFT_CACHE"

# Generated text.
"$weft" generate markdown | diff "$source_dir/docs/options.md" - ||
    fail "docs/options.md is not what weft generate markdown prints: regenerate it"
if command -v groff >/dev/null; then
    "$weft" generate man | groff -man -Tascii -ww -z 2>"$work/groff" || fail "groff refuses the manual page"
    [ ! -s "$work/groff" ] || fail "groff warns: $(head -3 "$work/groff")"
fi

# Completion, as bash would call it.
"$weft" generate completion >"$work/completion"
complete_words() {
    bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; printf "%s\n" "${COMPREPLY[@]}"' \
        bash "$work/completion" "$@"
}
[ "$(complete_words weft tr)" = train ] || fail "completion of tr"
[ "$(complete_words weft train --hid)" = --hidden ] || fail "completion of --hid"
[ "$(complete_words weft train --model gc)" = gcn ] || fail "completion of --model gc"
[ "$(complete_words weft train --model = gc)" = gcn ] || fail "completion of --model=gc"
[ "$(complete_words weft train --model = | wc -l)" -eq 41 ] || fail "completion of --model="
[ "$(cd "$work" && complete_words weft train --config a.c)" = a.conf ] || fail "completion of a path"
[ -z "$(complete_words weft partition --epo)" ] || fail "completion offers an option of another command"

# One voice for several ranks: the launcher's variables are enough, no mpirun needed.
expect 2 env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 "$weft" train --hiden 3
silent_err
expect 0 env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 "$weft" --help
silent_out
expect 0 env PMI_RANK=3 "$weft" --version
silent_out
expect 78 env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$weft" info
says "without mpirun"

[ "$failures" -eq 0 ] || exit 1
echo "all answers as expected"
