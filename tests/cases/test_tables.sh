#!/usr/bin/env bash
# Tables of features, labels and splits whose header says what the columns are: by name, in any order, rows by ids, classes in words,
# quotes, missing labels, one separator a file. Each gives the right value, or is refused in words that lead to the cure.
# trees: asan
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
printf '0 1\n1 2\n2 3\n' >path4.txt

# bytes ARRAY.npy TYPE: its elements, od's TYPE, on one line.
bytes() {
    local length
    length=$((10 + $(od -An -tu2 -j8 -N2 "$1")))
    od -An -v -w100000 -t"$2" -j"$length" "$1" | tr -s ' ' | sed 's/^ //; s/ $//'
}

option_of() {
    case $1 in f) echo --features ;; l) echo --labels ;; s) echo --splits ;; esac
}

# takes f|l|s FILE VALUES [TEXT]: features, labels or split of four vertices in a path, and what the log says.
takes() {
    local got array type
    case $1 in f) array=feature type=f4 ;; l) array=label type=d4 ;; s) array=split type=u1 ;; esac
    "$weft" convert path4.txt --threads 1 "$(option_of "$1")" "$2" --out o --force >log 2>&1 || { cat log; fail "$2: refused"; }
    got=$(bytes "o/$array.npy" $type)
    [ "$got" = "$3" ] || { cat "$2" log; fail "$1 of $2: $got, expected $3"; }
    grep -qF -- "${4:-$2}" <(cat log; echo "$2") || { cat log; fail "$2: no '${4-}'"; }
}

# refuses f|l|s FILE TEXT
refuses() {
    local got=0
    rm -rf o
    "$weft" convert path4.txt --threads 1 "$(option_of "$1")" "$2" --out o >log 2>&1 || got=$?
    [ "$got" -eq 65 ] || { cat "$2" log; fail "exit $got instead of 65: $2"; }
    grep -qF -- "$3" log || { cat "$2" log; fail "$2: no '$3'"; }
    [ ! -e o ] || fail "left behind: $2"
}

# is VALUES|refuse: the same with a file made of the text that printf makes of $2.
is() {
    printf "$2" >t.csv
    takes "$1" t.csv "${@:3}"
}
wrong() {
    printf "$2" >t.csv
    refuses "$1" t.csv "$3"
}
names() {
    local got
    got=$(tail -c +$((11 + $(od -An -tu2 -j8 -N2 o/class_name.npy))) o/class_name.npy | tr '\n' '|')
    [ "$got" = "$1" ] || fail "classes are $got, expected $1"
}

# ---- features ----
is f 'node,f1\n3,0.5\n2,0.25\n1,0.125\n0,1\n' '1 0.125 0.25 0.5' "column 'node' says which vertex a row is"
is f '\xef\xbb\xbf"NODE ID";"F1"\r\n"3";0.5\r\n2.0;0.25\r\n1;"0.125"\r\n0;1\r\n' '1 0.125 0.25 0.5'
is f ':ID(P),f:float\n3,1\n2,2\n1,3\n0,4\n' '4 3 2 1'
is f 'Id,Label,f1\n0,anna,1\n1,bert,2\n2,"c, d",4\n3,,6\n' '1 2 4 6' "a column is left out: 'Label'"
is f 'f1,train,val,test\n1,1,0,0\n3,0,1,0\n5,0,0,1\n7,0,0,0\n' '1 3 5 7' "columns are left out: 'train', 'val', 'test'"
is f 'f1,val\n1,2\n3,4\n5,6\n7,8\n' '1 2 3 4 5 6 7 8'
is f 'x,y\n1,2\n3,4\n5,6\n7,8\n' '1 2 3 4 5 6 7 8'
is f 'f,y\n1,2\n3,4\n5,6\n7,8\n' '1 3 5 7' "left out: 'y'"
is f '"a" "b"\n"1" 2 3\n"2" 4 5\n"3" 6 7\n"4" 8 9\n' '2 3 4 5 6 7 8 9' 'the first column is left out'
is f ',0,1\n0,5,6\n1,7,8\n2,9,1\n3,2,3\n' '5 6 7 8 9 1 2 3' 'the first column is left out'
is f '\ta\n0\t5\n1\t7\n2\t9\n3\t2\n' '5 7 9 2'
is f 'body mass\n1\n2\n3\n4\n' '1 2 3 4'
is f '1 2\n3\t4\n5  6\n7 8\n' '1 2 3 4 5 6 7 8' # blanks and tabs, as ever
wrong f 'a;b\n0,5;1,5\n0,25;2,5\n0,125;3,5\n1,0;4,5\n' "line 2: column 'a': '0,5': a comma within a number: decimal commas?"
wrong f 'a\n0,5\n1,5\n0,25\n1,0\n' 'line 1 has 1 names, line 2 has 2 fields: decimal commas?'
wrong f 'a\tb\n1\t2\n0,5\t1\n' "line 3: column 'a': '0,5': a comma within a number"
wrong f '0,5;1,5\n2;3\n' 'decimal commas?'
wrong f '1,2\n3;4\n5,6\n7,8\n' 'line 2: 1 cells separated by a comma, and the first row has 2'
wrong f 'a b\n1,2\n3,4\n5,6\n7,8\n' 'one separator a file'
wrong f 'a,b,c\n1,2\n3,4\n5,6\n7,8\n' 'line 1 has 3 names, line 2 has 2 fields'
wrong f 'a,b\n1,2\n3,4,9\n5,6\n7,8\n' 'line 3: 3 cells separated by a comma, and the header names 2'
wrong f ',a\n3,5\n1,7\n2,9\n0,2\n' "line 2: column 1: '3': expected the number of the row"
wrong f 'id,colour,f\n0,red,1\n1,blue,2\n2,red,3\n3,red,1\n' "line 2: column 'colour': 'red': expected a finite number (text is coded as numbers, one-hot, or left out)"
wrong f 'f,g\n1,2\n3,x\n5,6\n7,8\n' "line 3: column 'g': 'x': expected a finite number"
wrong f 'f,g\n1,2\n3,NA\n5,6\n7,8\n' "line 3: column 'g': 'NA': expected a finite number"
wrong f 'id,f\n0,1\n1,2\n1,3\n3,1\n' "line 4: column 'id': vertex 1 has a row already"
wrong f 'id,f\n0,1\n1,2\n3,1\n' "no row for vertex 2 in column 'id': 3 rows, 4 vertices"
wrong f 'id,f\n1,1\n2,2\n3,1\n4,3\n' 'line 5: column '"'id'"': vertex 4: vertices are 0 to 3; do these ids count from 1'
wrong f 'id,f\n0,1\nx,2\n2,1\n3,3\n' "line 3: column 'id': 'x': expected the id of a vertex, 0 to 3"
wrong f 'id,node,f\n0,0,1\n' "the columns 'id' and 'node' mean the same"
wrong f 'id,label\n0,1\n1,0\n2,1\n3,1\n' 'no column is a feature'
wrong f 'a,"b\n0,1\n' 'line 1: a quote (") is not closed'
wrong f '0,1\n5,6\n7,8\n9,1\n2,3\n' 'if line 1, 0, 1, 2, ..., is a header'

# The ids of a file that counts from 1 are as the file has them.
printf '3 2\n2\n1 3\n2\n' >path3.graph
printf 'id,f\n3,0.5\n1,0.25\n2,1\n' >three.csv
"$weft" convert path3.graph --threads 1 --features three.csv --out o --force >log 2>&1
[ "$(bytes o/feature.npy f4)" = '0.25 1 0.5' ] || fail "ids from 1"

# Vertices with names: in a column of ids, in a first column without a name, in lists.
printf 'source,target\nalice,bob\nbob,carol\n' >people.csv
printf ',f,g\nbob,1,2\ncarol,3,4\nalice,5,6\n' >f.csv
printf 'label;name\n"x";carol\n"y";alice\nx;bob\n' >l.csv
mkdir parts
for part in train:bob valid:alice test:carol; do echo "${part#*:}" >"parts/${part%:*}.csv"; done
"$weft" convert people.csv --threads 1 --relabel --features f.csv --labels l.csv --splits parts --out o --force >log 2>&1
[ "$(bytes o/feature.npy f4) $(bytes o/label.npy d4) $(bytes o/split.npy u1)" = '5 6 1 2 3 4 1 0 0 1 0 2' ] || fail "rows by names"

# ---- labels ----
is l 'id,label\n3,2\n2,0\n1,1\n0,0\n' '0 1 0 2'
is l '"label"\n"0"\n"1"\n"0"\n"1"\n' '0 1 0 1'
is l 'cat\ndog\nfox\ncat\n' '0 1 2 0' "3 classes by name: 0 is 'cat'"
names 'cat|dog|fox|'
grep -qF '"class_names"' o/manifest.json || fail 'no names of classes in the store'
is l 'animal\nfox\nbee\nfox\ncat\n' '2 0 2 1'
is l 'label\nfox\n\nfox\ncat\n' '1 -1 1 0' 'rows without a label (empty or NA): 1'
is l 'id;class;x\n3;golden retriever;\n2;"a ""b""";1\n1;cat;?\n0;cat;\n' '1 1 0 2' "left out: 'x'"
names 'a "b"|cat|golden retriever|'
is l 'golden retriever\ncat\ngolden retriever\ncat\n' '1 0 1 0'
is l 'id,label\n3,cat\n2,\n1,dog\n0,NA\n' '-1 1 -1 0'
is l 'id,label\n0,"a"\n1,"7"\n2,"b"\n3,"7"\n' '1 0 2 0' # quotes make a word of a number
is l '0\n1\n\n2\n' '0 1 -1 2'
is l '0\n1\nNA\n2\n' '0 1 -1 2'
is l '0.0\n1.0\nNaN\n2.0\n' '0 1 -1 2'
is l '""\n"1"\n""\n"0"\n' '-1 1 -1 0'
is l '0\n1\n2\n0\n\n\n' '0 1 2 0' # empty lines at the end are nothing where all vertices have a row
is l '0\n\n1\n\n' '0 -1 1 -1'
is l ',label\n0,2\n1,1\n2,0\n3,0\n' '2 1 0 0'
is l ',0\n0,2\n1,1\n2,0\n3,0\n' '2 1 0 0' # pandas writes a series without a name so
is l 'node_id,f1,target,split\n0,1,cat,train\n1,2,dog,train\n2,3,cat,test\n3,1,fox,val\n' '0 1 0 2' "left out: 'f1', 'split'"
is l 'a\nb\nc\nd\n' '0 1 2 3' 'are these names rather than classes?'
printf 'id,t1,t2\n3,1,0\n2,0,\n1,1,1\n0,0,NA\n' >t.csv
"$weft" convert path4.txt --threads 1 --labels t.csv --out o --force >log 2>&1
[ "$(bytes o/target.npy f4)" = '0 nan 1 1 0 nan 1 0' ] || fail "tasks: $(bytes o/target.npy f4)"
names 't1|t2|'
wrong l 'label,class\n0,1\n1,1\n0,0\n1,0\n' "the columns 'label' and 'class' mean the same"
wrong l 'id,label\n0,cat\n1,2\n2,dog\n3,dog\n' "line 3: column 'label': '2': expected a word, as above"
wrong l 'id,label\n0,2\n1,2\n2,dog\n3,1\n' "line 4: column 'label': 'dog': expected a finite number, as the classes above"
wrong l 'id,f1,species\n0,1,cat\n1,2,dog\n2,3,cat\n3,1,fox\n' 'several columns are tasks (one of classes is named label)'
wrong l 'id,name\n0,anna\n1,bert\n2,c\n3,d\n' 'no column of labels: give it the name label'
wrong l 'animal\ncat\n\nfox\ncat\n' "is 'animal' a class or the name of the column?"
wrong l 'cat\ndog\nca\xfft\ncat\n' 't.csv: name'
wrong l 'cat\ndog\n' '1 rows for 4 vertices'

# ---- splits ----
is s 'valid,test,train\n0,0,1\n1,0,0\n0,1,0\n0,0,0\n' '0 1 2 255'
is s 'Test_Mask,val_mask,train_mask\nFalse,False,True\nTrue,False,False\nFalse,True,False\nFalse,False,False\n' '0 2 1 255'
is s 'id,split\n3,none\n2,Test\n1,VALID\n0,train\n' '0 1 2 255'
is s 'vertex\tset\n0\ttraining\n1\tdev\n2\ttesting\n3\t\n' '0 1 2 255'
is s ',fold\n0,train\n1,val\n2,test\n3,NA\n' '0 1 2 255'
is s 'train_mask\n1\n1\n0\n0\n' '0 0 255 255' 'no column says valid and test'
is s 'train,test\n1,0\n0,1\n0.0,0.0\n0,0\n' '0 2 255 255' 'no column says valid:'
is s 'true,false,false\nfalse,true,false\nfalse,false,true\nfalse,false,false\n' '0 1 2 255'
is s 'train\nvalid\ntest\ntrain\n' '0 1 2 0'
is s 'train\n\n"test"\n'"'val'"'\n' '0 255 2 1'
is s '0.0\n1.0\n2.0\n255\n' '0 1 2 255'
wrong s '1\n1\n0\n0\n' 'holds 0 and 1 alone: a mask of one part; which?'
wrong s 'mask\n1\n1\n0\n0\n' 'holds 0 and 1 alone'
wrong s 'mask\nTrue\nTrue\nFalse\nFalse\n' 'of masks, the header says which part each is'
wrong s 'a,b,c\n1,0,0\n0,1,0\n0,0,1\n0,0,0\n' 'which are the split? Expected one named split'
wrong s '0,train\n1,valid\n2,test\n3,none\n' '2 columns without names: which are the split?'
wrong s 'split,train\n1,0\n0,1\n0,0\n0,0\n' "the column 'split' and columns of parts are there"
wrong s 'train,test\n1,0\n0,1\n1,1\n0,0\n' "line 4: column 'test': a vertex of two parts, train and test"
wrong s 'train,val,test\n1,0,0\n0,,0\n0,0,1\n0,0,0\n' "line 3: column 'val': an empty field: expected 0 or 1"
mkdir lists
printf 'id\n0\n' >lists/train.csv
printf ',node\n0,1\n1,3\n' >lists/valid.csv
printf '"2"\n' >lists/test.csv
takes s lists '0 1 2 1'

# numpy.savetxt: numbers with exponents, and a header behind #, which no reader follows but each points out.
is s '0.000000000000000000e+00\n1.000000000000000000e+00\n2.000000000000000000e+00\n-1.0e+00\n' '0 1 2 255'
is s '1.0e+00 0.0e+00 0.0e+00\n0.0e+00 1.0e+00 0.0e+00\n0.0e+00 0.0e+00 1.0e+00\n0.0e+00 0.0e+00 0.0e+00\n' '0 1 2 255'
is l 'id,label\n3.0e+00,2.0e+00\n2.0e+00,0.0e+00\n1.0e+00,1.0e+00\n0.0e+00,0.0e+00\n' '0 1 0 2'
is f '# id f\n3 1\n2 2\n1 3\n0 4\n' '3 1 2 2 1 3 0 4' "the comment above the first row, 'id f', names columns, and is not followed"
is s '# test valid train\n1 0 0\n0 1 0\n0 0 1\n0 0 0\n' '0 1 2 255' "'test valid train', names columns, and is not followed"
for comment in 'x0 x1' 'made by hand' 'train valid test' 'id'; do
    is s "# $comment\n1 0 0\n0 1 0\n0 0 1\n0 0 0\n" '0 1 2 255'
    ! grep -F 'is not followed' log || fail "a comment that says nothing else: $comment"
done
is f 'user_id,f\n3,1\n2,2\n1,3\n0,4\n' '3 1 2 2 1 3 0 4' "the column 'user_id' is taken for a feature: if it says which vertex a row is"
is f 'grid,paid\n3,1\n2,2\n1,3\n0,4\n' '3 1 2 2 1 3 0 4'
! grep -F 'is taken for a feature' log || fail "grid and paid are no ids"
is s 'fold\n0\n1\n2\n0\n' '0 1 2 0' "the numbers of column 'fold' are taken for parts"
is s 'Split\n0\n1\n2\n0\n' '0 1 2 0'
! grep -F 'are taken for parts' log || fail "a column named split"
is l 'label\ncaf\xc3\xa9\ncafe\xcc\x81\nbar\nbar\n' '1 1 0 0' '2 classes by name' # two spellings of the same letters
names $'bar|caf\xc3\xa9|'
is l 'label\ncat\nNone\ndog\ncat\n' '1 0 2 1' "'None' is a class here: if it stands for a label that is missing"

# Names as short as these leave no room behind the list of them.
printf '1 2\n2 3\n3 1\n' >short.txt
printf 'id,a\n3,30\n1,10\n2,20\n' >short.csv
"$weft" convert short.txt --relabel --threads 1 --features short.csv --out o --force >log 2>&1 || { cat log; fail "short names"; }
[ "$(bytes o/feature.npy f4)" = '10 20 30' ] || fail "short names: $(bytes o/feature.npy f4)"

# Lists of vertices count as the edges do; where neither 0 nor the last one shows it, a word.
printf '1 2\n2 3\n3 4\n' >from1.txt
for lists in '1,2:3:4:0 0 1 2:0' '0,1:2:3:0 0 1 2:0' '2:1:3:1 0 2 255:1'; do
    IFS=: read -r train valid test expected told <<<"$lists"
    rm -rf counted && mkdir counted
    for part in train valid test; do tr , '\n' <<<"${!part}" >counted/$part.csv; done
    "$weft" convert from1.txt --first-id 1 --threads 1 --splits counted --out o --force >log 2>&1
    [ "$(bytes o/split.npy u1)" = "$expected" ] || fail "lists $lists: $(bytes o/split.npy u1)"
    [ "$(grep -cF 'taken to count from 1, as the edges do' log || true)" -eq "$told" ] || { cat log; fail "lists $lists"; }
done

# ---- packed ----
printf 'id\tlabel\r\n3\tb\r\n2\ta\r\n1\tb\r\n0\ta\r\n' >t.tsv
gzip -k t.tsv
takes l t.tsv.gz '0 1 0 1'
if command -v xz >/dev/null; then
    xz -k t.tsv
    takes l t.tsv.xz '0 1 0 1'
fi

# ---- the shared cases ----
cases=${WEFT_SHARED:-$source_dir/../shared}/cases/inputs
[ -d "$cases/text" ] || skip "no cases at $cases"
takes f "$cases/text/features-node-column.csv" '1 0.125 0.25 0.5'
takes s "$cases/text/splits-columns-in-other-order.csv" '0 1 2 255'
takes l "$cases/text/labels-id-column.csv" '0 1 0 2'
takes s "$cases/text/splits-id-column.csv" '0 1 2 255'
takes s "$cases/text/splits-train-mask.csv" '0 0 255 255'
takes l "$cases/text/labels-quoted.csv" '0 1 0 1'
takes l "$cases/text/labels-names.csv" '0 1 2 0'
takes l "$cases/text/labels-empty-line.csv" '0 1 -1 2'
takes l "$cases/text/labels-NA.csv" '0 1 -1 2'
refuses f "$cases/text/features-decimal-comma.csv" 'decimal commas?'
"$weft" convert "$cases/ogb/label-empty" --out o --force >log 2>&1
[ "$(bytes o/label.npy d4)" = '0 1 -1 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2' ] || fail "$(bytes o/label.npy d4)"
echo "passed"
