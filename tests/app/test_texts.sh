#!/bin/bash
# Networks on texts: losses and scores of 1, 2 and 4 ranks agree; a run answers for a table of its own with the words that it
# learned, also from a checkpoint and a file of safetensors, and goes on; rows that are long, empty or no UTF-8 are told of once; what
# has no meaning for texts is refused.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need_numpy
work_folder

python3 - <<'PY'
import random
random.seed(3)
good, bad = ["fine", "great", "lovely"], ["dull", "awful", "boring"]
filler = "the a film was and its story actor scene with plot".split()
with open("reviews.csv", "wb") as out, open("new.csv", "w") as new:
    out.write(b"text,mood\n")
    new.write("text\n")
    for i in range(200):
        words = [random.choice(filler) for _ in range(random.randint(2, 12))]
        words.insert(random.randrange(len(words)), random.choice(good if i % 2 else bad))
        text = " ".join(words).encode()
        text = b"" if i == 7 else b"caf\xff " + text if i == 9 else b" ".join([text] * 9) if i == 11 else text
        out.write(b'"' + text.capitalize() + b'.",' + (b"up" if i % 2 else b"down") + b"\n")
    for i in range(40):
        new.write(f"The unheard film was {random.choice(good if i % 2 else bad)} with a story\n")
PY
all=(--text-column text --target mood --text-length 16 --threads 1 --pin off)
few=(--model encoder-tiny --vocabulary 15 --epochs 2 --batch-size 16 --lr 0.002)

# ---- ranks ----
"$weft" train --data reviews.csv "${all[@]}" "${few[@]}" --run-dir one >out 2>err || fail "train: $(cat err)"
for words in 'vocabulary of 15' 'texts are cut behind 16 words' '1 texts have no words, row 7 first' \
    '1 texts hold bytes that are no UTF-8, row 9 first'; do
    [ "$(grep -cF -- "$words" err)" -eq 1 ] || fail "not said once: $words: $(cat err)"
done
grep -q '^Texts read: from memory [0-9]' out && ! grep -q 'Images read' out || fail "texts are called so: $(cat out)"
for count in 2 4; do
    ranks $count "$weft" train --data reviews.csv "${all[@]}" "${few[@]}" --run-dir "ranks-$count" --quiet >out 2>err ||
        fail "$count ranks: $(cat err)"
done
python3 - <<'PY' || fail "ranks part"
import json
def losses(run):
    return [json.loads(line)["loss"] for line in open(run + "/metrics.jsonl")]
one = losses("one")
assert len(one) == 2 and one[1] < one[0] < 0.8, one
for count in (2, 4):
    off = max(abs(a - b) for a, b in zip(one, losses(f"ranks-{count}")))
    print(count, off)
    assert off < 1e-5, off
PY

# ---- answers ----
ok "$weft" train --data reviews.csv "${all[@]}" --model encoder-tiny --epochs 8 --batch-size 8 --lr 0.002 --schedule constant --run-dir run --quiet
for model in run run/weights.npz; do
    ok "$weft" predict --checkpoint $model --data new.csv --out answers --force --threads 1 --pin off --quiet
    python3 - <<'PY' || fail "answers of $model"
import csv
rows = list(csv.DictReader(open("answers/answers.csv")))
assert [row["row"] for row in rows] == [str(i) for i in range(40)]
right = sum(row["name"] == ("up" if i % 2 else "down") for i, row in enumerate(rows))
assert right >= 36, right
PY
    cp answers/answers.csv "of-$(basename $model).csv"
done
cmp of-run.csv of-weights.npz.csv || fail "a checkpoint answers otherwise"
ok "$weft" export run --out model.safetensors --quiet
ok "$weft" predict --checkpoint model.safetensors --data new.csv --out answers --force --threads 1 --pin off --quiet
cmp of-run.csv answers/answers.csv || fail "safetensors answer otherwise"
ok "$weft" eval --checkpoint run --data reviews.csv --threads 1 --pin off
ok "$weft" train --resume run --epochs 9 --threads 1 --pin off --quiet

# ---- what is refused ----
refused 2 'augment is not for texts' "$weft" train --data reviews.csv "${all[@]}" --augment flip
refused 2 'mixup is not for texts' "$weft" train --data reviews.csv "${all[@]}" --mixup 0.2
refused 2 'image-moments 0.5/0.5 scales pixels' "$weft" train --data reviews.csv "${all[@]}" --image-moments 0.5/0.5
# Labels that are alike in as many bytes as a class's name has are no single class.
python3 -c 'print("text,mood\n" + "".join("a film %d,%s\n" % (i, "y" * 255 + "ab"[i % 2] if i > 2 else "short") for i in range(40)), end="")' >long.csv
refused 65 "row 4: column 'mood' has a label of 256 bytes, 'yyyy" "$weft" train --data long.csv "${all[@]}" --model encoder-tiny
refused 2 "no column" "$weft" train --data reviews.csv --text-column tex --target mood
refused 2 'the text and the target' "$weft" train --data reviews.csv --text-column text --target text
printf 'conv 4 3\nglobalpool\nlinear classes\n' >image.net
refused 65 "'embed words CHANNELS' alone reads" "$weft" train --data reviews.csv "${all[@]}" --model image.net
printf 'embed 3 8\ntokenmean\nlinear classes\n' >small.net
refused 65 'rows for 3 words' "$weft" train --data reviews.csv "${all[@]}" --model small.net
printf 'embed words 8\nattention 2\ntokenmean\nlinear classes\n' >heads.net
refused 65 'queries, keys and values of 2 heads' "$weft" train --data reviews.csv "${all[@]}" --model heads.net
printf 'embed words 8\ntokenmean\nlinear classes\n' >bag.net
refused 65 'reads the words of texts' "$weft" train --data synth:images,n=20,test=0,size=8 --model bag.net
# A vocabulary of more than 400 bytes is in the run, and no line tells it whole.
awk 'BEGIN {print "text,mood"; for (i = 0; i < 90; ++i) printf "word%03d word%03d,%s\n", i % 60, i, i % 2 ? "up" : "down"}' >words.csv
ok "$weft" train --data words.csv "${all[@]}" --model bag.net --epochs 1 --run-dir bag --quiet
ok "$weft" info bag
grep -q '^--words (data): word.*\.\.\. ([0-9]* bytes)$' out && ! grep -q '.\{500\}' out || fail "words of a run: $(cat out)"
grep -q '^texts training texts: ' out && grep -q '^texts words of a text: 16$' out || fail "texts are called so: $(cat out)"
refused 2 'bytes): leave --words out' "$weft" eval --checkpoint bag/weights.npz --words word --data words.csv
ok "$weft" train --data reviews.csv "${all[@]}" --model bag.net --epochs 1 --run-dir small-bag --quiet
for option in '--mixup 0.2' '--teacher bag' '--classes up,down' '--cache-memory 1M' '--image-size 3x1'; do
    refused 2 'is not for texts' "$weft" train --data reviews.csv "${all[@]}" --model bag.net $option
done
refused 2 'vocabulary 5: --words names the words' "$weft" train --data reviews.csv "${all[@]}" --model bag.net --vocabulary 5 --words 'film plot'
refused 2 'columns have the numbers 1 to 2' "$weft" train --data reviews.csv --text-column 0 --target mood --model bag.net
for option in '--text-length 2' '--vocabulary 5'; do
    refused 2 'the model keeps it' "$weft" predict bag new.csv $option --out none
done
sed 's/^text,/id,/' reviews.csv >id.csv
"$weft" train --data id.csv --text-column id --target mood --model bag.net --skew-guard 1 --sync topk --epochs 1 --threads 1 --pin off >out 2>err || fail "id: $(cat err)"
grep -q 'one rank has nobody to part from' err || fail "a guard of one rank: $(cat err)"

# ---- other data ----
sed 's/^text/review/' new.csv >named.csv
ok "$weft" predict run named.csv --text-column review --out answers --force --threads 1 --pin off --quiet
cmp of-run.csv answers/answers.csv || fail "a column of another name is answered otherwise"
{ echo text,mood,id && sed '1d; s/$/,7/; s/film/movie movie movie/' reviews.csv; } >more.csv
ok "$weft" train --data more.csv "${all[@]}" --model encoder-tiny --epochs 1 --lr 1e-12 --init-weights run --run-dir go --quiet
ok "$weft" predict go new.csv --out answers --force --threads 1 --pin off --quiet
cut -d, -f1-3 of-run.csv >wanted.csv
cut -d, -f1-3 answers/answers.csv | cmp - wanted.csv || fail "weights to start from have other words"
refused 2 'are of other words' "$weft" train --data more.csv "${all[@]}" --model encoder-tiny --init-weights run --words 'film plot'
refused 2 'leave --vocabulary out' "$weft" train --data more.csv "${all[@]}" --model encoder-tiny --init-weights run --vocabulary 5
mkdir bare && cp run/weights.npz bare && sed 's/"words"/"none"/' run/run.json >bare/run.json
refused 2 'does not say which words' "$weft" train --data more.csv "${all[@]}" --model encoder-tiny --init-weights bare/weights.npz
"$weft" train --data more.csv "${all[@]}" --model bag.net --dry-run >out 2>err || fail "more: $(cat err)"
! grep -q 'is a feature' err || fail "a column that is not read is told of: $(cat err)"
echo passed
