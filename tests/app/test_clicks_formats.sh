#!/bin/bash
# Models of clicks read one table in many forms: Criteo's and Avazu's files, plain, .gz and .xz, train as the same cells in a CSV file do,
# to the bit. Rows validate by shares or by the end of a column's order, and ids folded by --hash-bits are as many. Where a bound of memory
# is reached within an epoch, old rows leave first, then ids are refused, which is told with cures, and no row that stays is lost.
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work_folder

python3 - <<'PY'
import gzip, lzma, random
random.seed(3)
words = [f"{random.getrandbits(32):08x}" for _ in range(300)]
rows = []
for i in range(1500):
    numbers = [str(random.randrange(-2, 900)) if random.random() > 0.3 else "" for _ in range(13)]
    ids = [random.choice(words) if random.random() > 0.2 else "" for _ in range(26)]
    rows.append([str(int(random.random() < (0.7 if ids[3] < "8" else 0.2)))] + numbers + ids)
text = "".join("\t".join(row) + "\n" for row in rows)
open("criteo.txt", "w").write(text)
gzip.open("criteo.txt.gz", "wt").write(text)
lzma.open("criteo.txt.xz", "wt").write(text)
with open("criteo.csv", "w") as out:
    out.write(",".join(["label"] + [f"I{j}" for j in range(1, 14)] + [f"C{j}" for j in range(1, 27)]) + "\n")
    out.writelines(",".join(row) + "\n" for row in rows)
names = ("id,click,hour,C1,banner_pos,site_id,site_domain,site_category,app_id,app_domain,app_category,device_id,device_ip,device_model,"
         "device_type,device_conn_type,C14,C15,C16,C17,C18,C19,C20,C21").split(",")
rows = [[str(10 ** 18 + i), row[0], str(14102100 + i // 100)] + row[14:35] for i, row in enumerate(rows)]
lzma.open("avazu.csv.xz", "wt").writelines(",".join(row) + "\n" for row in [names] + rows)
with open("plain.csv", "w") as out:
    out.writelines(",".join(row) + "\n" for row in [["key", "clicked", "time"] + [f"w{j}" for j in range(21)]] +
                   [["k" + row[0], *row[1:]] for row in rows])
PY
how=(--model deepfm --epochs 1 --batch-size 128 --threads 1 --pin off --metric rocauc --seed 4)
same() { # RUN RUN: the weights, the rows, and the score of the test rows
    cmp "$1/weights.npz" "$2/weights.npz" && cmp "$1/rows-00000-of-00001.rows" "$2/rows-00000-of-00001.rows" || fail "$1 and $2 are other models"
    python3 -c "
import json
a, b = (json.load(open(run + '/summary.json'))['test_mean'] for run in ('$1', '$2'))
assert a == b and a > 0.5, (a, b)" || fail "$1 and $2 have other scores"
}
ids=$(seq -s, -f C%g 26)
ok "$weft" train --data criteo.csv --target label --category "$ids" "${how[@]}" --quiet --run-dir csv
for end in txt txt.gz txt.xz; do
    ok "$weft" train --data criteo.$end --table-format criteo --target label "${how[@]}" --quiet --run-dir criteo-$end
    same csv criteo-$end
done
ok "$weft" train --data plain.csv --target clicked --drop key --category "$(seq -s, -f w%g 0 20)" "${how[@]}" --quiet --run-dir plain
ok "$weft" train --data avazu.csv.xz --table-format avazu --target click "${how[@]}" --quiet --run-dir avazu
same plain avazu

# ---- validation, folded ids ----
ok "$weft" train --data avazu.csv.xz --table-format avazu --target click "${how[@]}" --split-by hour --valid-share 0.2 --test-share 0.2 --run-dir later
grep -q "validate from 14102109 and test from 14102112" err || fail "rows are not split by the hour: $(cat err)"
ok "$weft" train --data criteo.txt --target label "${how[@]}" --valid-share 0.25 --test-share 0.05 --run-dir shares
grep -qE "10[0-9][0-9]/3[0-9][0-9]/[5-9][0-9] rows to train/valid/test" err || fail "shares: $(cat err)"
ok "$weft" train --data criteo.txt --target label "${how[@]}" --hash-bits 4 --quiet --run-dir folded
python3 -c "
import json
rows = [group['rows'][0]['value'] for group in json.load(open('folded/summary.json'))['facts'] if group['key'] == 'embeddings'][0]
assert 26 * 8 < rows <= 26 * 16, rows" || fail "ids are not folded to 16 a column"

# ---- a bound of memory within an epoch ----
grown=(--data "synth:clicks,rows=30k,ids=20k,fields=4,numbers=2" --mlp 8 --valid-share 0 --test-share 0 "${how[@]:0:2}" "${how[@]:4}")
rows_of() { python3 -c "
import json
e = {row['key']: row['value'] for group in json.load(open('$1/summary.json'))['facts'] for row in group['rows']}
print(e['rows'], e['made'], e['refused'], e['expired'], e['bytes'])"; }
ok "$weft" train "${grown[@]}" --epochs 1 --run-dir free
read -r kept made refused expired bytes <<<"$(rows_of free)"
[ "$refused" = 0 ] && [ "$expired" = 0 ] && [ "$bytes" -gt 400000 ] || fail "without a bound: $(rows_of free)"
ok "$weft" train "${grown[@]}" --epochs 1 --row-memory 300K --run-dir bound
grep -q "have reached --row-memory (.*): [0-9]* times an id found no room.*Raise it" err || fail "a bound that is reached is not told: $(cat err)"
read -r kept made refused expired bytes <<<"$(rows_of bound)"
[ "$refused" -gt 0 ] && [ "$expired" = 0 ] && [ "$kept" = "$made" ] && [ "$bytes" -le 307200 ] || fail "bound: $(rows_of bound)"
before=$refused
ok "$weft" train "${grown[@]}" --epochs 1 --row-memory 300K --expire-after 20 --run-dir leaving
read -r kept made refused expired bytes <<<"$(rows_of leaving)"
[ "$expired" -gt 0 ] && [ "$refused" -lt "$before" ] && [ "$made" -gt "$kept" ] && [ "$bytes" -le 307200 ] || fail "leaving: $(rows_of leaving)"
[ $((made - expired)) = "$kept" ] || fail "rows are lost: $(rows_of leaving)"
ok "$weft" train "${grown[@]}" --epochs 2 --row-memory 300K --expire-after 20 --run-dir through
cp -r leaving elsewhere
ok "$weft" train --resume leaving --epochs 2
[ "$(rows_of leaving)" = "$(rows_of through)" ] || fail "a break changes which ids find room: $(rows_of leaving), $(rows_of through)"
cmp leaving/weights.npz through/weights.npz || fail "a break under a bound changes the model"
ok ranks 2 "$weft" train --resume elsewhere --epochs 2
grep -q "which ids find room under the bound of memory may differ" err || fail "other ranks have other room, and it is not told: $(cat err)"
ok "$weft" eval --checkpoint leaving --data "synth:clicks,rows=1k,ids=20k,fields=4,numbers=2" --quiet
echo "passed"
