"""motion_checks.py: an index of moving things beside the truth of made traffic, and answers beside those of weft predict.

truth FILE TRUTH: every thing that is 10 pixels wide or more has one box, near it, in nearly every frame; a track is one thing.
answers CSV FILE PREDICTIONS CLASS [FIRST LAST]: answers are the tracks whose surest box in frames FIRST to LAST the
    network takes for the class, all verified.
count CSV FILE PREDICTIONS CLASS: all tracks were asked about, and so many are of the class.
scene FILE LEAST TRACKS: at least so many boxes a track, of at least so many tracks.
stride LOG FILE SHARE: what the log of a query whose answers the index holds all says about them and about every s-th frame.
runs CSV FILE: the network ran once a track at most.
plan CSV FILE SMALL LARGE: agreement for the surest boxes of all tracks, and plans of every s-th frame, by answers for all boxes; the
    last cheap network is the expensive one.
"""
import collections
import csv
import json
import struct
import sys

from focus_index import blocks, npy


def boxes(path):
    """Items in their order: name, frame, track, (left, top, width, height), highest score."""
    items, head = [], None
    for kind, contents in blocks(path):
        if kind == 1:
            head = json.loads(contents.rstrip(b"\0"))
            assert head["moving"] and head["kept"] == head["classes"]
        elif kind == 2:
            first, count, kept, _ = struct.unpack_from("<QIIQ", contents)
            at = 24 + 8 * count
            assert first == len(items)
            frames, tracks = (struct.unpack_from(f"<{count}I", contents, at + 4 * count * i) for i in (0, 1))
            sides = struct.unpack_from(f"<{4 * count}H", contents, at + 8 * count)
            scores = struct.unpack_from(f"<{kept * count}H", contents, at + 16 * count)
            at += 16 * count + (2 * kept * count + 3) // 4 * 4
            place = struct.unpack_from(f"<{count + 1}I", contents, at)
            names = contents[at + 4 * (count + 1):]
            for i in range(count):
                name = names[place[i]:place[i + 1] - 1].decode()
                items.append((name, frames[i], tracks[i], sides[4 * i:4 * i + 4], max(scores[i::count])))
    return items


def inside(box, thing):
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
    return thing[0] <= x < thing[0] + thing[2] and thing[1] <= y < thing[1] + thing[3]


def check_truth(path, truth):
    by_frame, of_track, found = collections.defaultdict(list), collections.defaultdict(collections.Counter), 0
    for name, frame, track, box, _ in boxes(path):
        file, geometry = name.split("#")
        assert geometry == f"{box[2]}x{box[3]}+{box[0]}+{box[1]}" and file == f"{frame + 1:06}.jpg", name
        by_frame[file].append((box, track))
    with open(truth, encoding="utf-8") as stream:
        rows = [(row["frame"], row["object"], tuple(int(row[k]) for k in ("left", "top", "width", "height")))
                for row in csv.DictReader(stream)]
    wide = [row for row in rows if row[2][2] >= 10]
    for file, thing, place in wide:
        hits = [(box, track) for box, track in by_frame[file] if inside(box, place)]
        assert len(hits) <= 1, (file, thing, hits)
        for box, track in hits:
            found += 1
            of_track[track][thing] += 1
            assert box[2] <= place[2] + 4 and box[3] <= place[3] + 4 and 2 * box[2] * box[3] >= place[2] * place[3], (box, place)
    assert found >= 0.99 * len(wide), (found, len(wide))
    assert all(len(things) == 1 for things in of_track.values()), "a track holds two things"
    assert len(of_track) == len({thing for _, thing, _ in wide}), "a thing has two tracks, or none"
    assert sum(map(len, by_frame.values())) <= 1.02 * len(rows)


def check_answers(path, index, predictions, wanted, first=0, last=1 << 60):
    span = range(int(first), int(last) + 1)
    items = [item for item in boxes(index) if item[1] in span]
    class_of = dict(zip((item[0] for item in boxes(index)), (row[0] for row in npy(predictions))))
    with open(path, encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len({row["track"] for row in rows}) == len(rows) >= 2
    for row in rows:
        own = [item[0] for item in items if item[2] == int(row["track"])]
        assert row["file"] in own and int(row["boxes"]) == len(own), row
        assert own[0].startswith(row["first"] + "#") and own[-1].startswith(row["last"] + "#"), row
        assert row["answer"] == "verified" and class_of[row["file"]] == int(wanted), row
    assert {int(row["track"]) for row in rows} == of_class(index, predictions, wanted, span)


def surest(index, span=range(1 << 60)):
    """Of each track the number of the box of which the cheap network is surest, the first of equal ones."""
    best = {}
    for number, (_, frame, track, _, score) in enumerate(boxes(index)):
        if frame in span and (track not in best or score > best[track][0]):
            best[track] = (score, number)
    return {track: number for track, (_, number) in best.items()}


def of_class(index, predictions, wanted, span=range(1 << 60)):
    """Tracks of a class, by the answer for that box."""
    answer = [row[0] for row in npy(predictions)]
    return {track for track, number in surest(index, span).items() if answer[number] == int(wanted)}


def check_count(path, index, predictions, wanted):
    with open(path, encoding="utf-8") as stream:
        row, = csv.DictReader(stream)
    assert int(row["count"]) == int(row["least"]) == int(row["most"]) == len(of_class(index, predictions, wanted)) > 0, row


def check_scene(path, least, tracks):
    of_track = collections.Counter(item[2] for item in boxes(path))
    assert len(of_track) >= int(tracks) and sum(of_track.values()) >= int(least) * len(of_track), of_track


def check_runs(path, index):
    with open(path, encoding="utf-8") as stream:
        row, = csv.DictReader(stream)
    assert 0 < int(row["runs"]) <= len({item[2] for item in boxes(index)}), row


def check_stride(path, index, share):
    items = boxes(index)
    tracks = {item[2] for item in items}

    def seen(stride):
        return [item for item in items if item[1] % stride == 0]

    # A stride may show more tracks than a smaller one does.
    shows = [s for s in range(1, 1025) if len({item[2] for item in seen(s)}) >= float(share) * len(tracks)]
    stride = min(shows, key=lambda s: (len(seen(s)), -s))
    assert stride > 1
    with open(path, encoding="utf-8") as stream:
        log = stream.read()
    assert f"one frame in {stride} alone" in log and f" needs {len(seen(stride))} runs" in log, (stride, log)
    assert f"ran on 0 of {len(items)} items, and the index held its answers for {len(tracks)} more" in log, log


def check_plan(path, index, small, large):
    items, asked = boxes(index), surest(index).values()
    tracks = {item[2] for item in items}
    cheap, truth = ([row[0] for row in npy(predictions)] for predictions in (small, large))
    with open(path, encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["plan"] for row in rows][:4] == ["cheap", "cheap", "everything", "every 2nd"], rows

    def near(row, key, value):
        assert abs(float(row[key]) - value) < 1e-6, (row, key, value)
    near(rows[0], "agreement", sum(cheap[number] == truth[number] for number in asked) / len(tracks))
    near(rows[1], "agreement", 1.0)
    near(rows[2], "query_runs", len(items))
    for k, row in enumerate(rows[3:]):
        seen = [item for item in items if item[1] % (2 << k) == 0]
        near(row, "query_runs", len(seen))
        near(row, "recall", len({item[2] for item in seen}) / len(tracks))
        near(row, "precision", 1.0)
    assert all(float(row["query_runs"]) <= len(tracks) for row in rows[:2]), rows
    chosen, = [row for row in rows if row["chosen"] == "true"]
    assert float(chosen["recall"]) >= 0.95 and float(chosen["precision"]) >= 0.95


{"truth": check_truth, "plan": check_plan, "stride": check_stride, "answers": check_answers, "count": check_count, "scene": check_scene,
 "runs": check_runs}[sys.argv[1]](*sys.argv[2:])
