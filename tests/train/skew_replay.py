"""The skew guard's rule once more, as docs/howto-skew.md describes it: from the scores and bytes in metrics.jsonl it says on which setting
the mode stands after each check, and fails where the run stood on another.

skew_replay.py METRICS POINTS SETTING...      settings from the tightest to the loosest; the run began with the first

Needs a check an epoch or fewer, as metrics.jsonl has the last check of each epoch. Prints how often the rule moved."""
import json
import sys


def may_gain(sync, bound, steps, looser):
    """The gain of the average a check up to which a looser setting is taken; None: any, as replicas that part show it themselves."""
    if sync == "topk":  # what is kept back waits 1 / density steps
        return bound * steps * looser
    return bound if sync == "allreduce" else None  # old rows of a graph


def replay(checks, sync, bound, steps, setting):
    """Yields the score and the rung after each check."""
    rung, good, best, means = 0, 0, 0.0, [0.0] * 4
    broken, sent = {}, {}  # by rung: the score that broke the bound, halved in four checks; bytes of its last check
    for c in checks:
        score = max((c["skew_home"] - c["skew_away"]) / (5 * bound), (best - c["skew_mean"]) / bound)
        best = max(c["skew_mean"], best - bound / 8)
        gain = (c["skew_mean"] - means[-4]) / 4
        means.append(c["skew_mean"])
        broken = {r: s * 0.5 ** 0.25 for r, s in broken.items()}
        sent[rung] = c["skew_bytes"]
        looser = min(rung + 1, len(setting) - 1)
        most = may_gain(sync, bound, steps, setting[looser])
        if score > 1:
            broken[rung] = score
            good, rung = 0, max(rung - 1, 0)
        elif most is not None and gain > most:
            good = 0
        else:
            good += 1
            if good >= 2 and looser > rung and broken.get(looser, 0) <= 1 and sent.get(looser, -1) < sent[rung]:
                good, rung = 0, looser
        yield score, rung


def main():
    path, points, setting = sys.argv[1], float(sys.argv[2]), [float(s) for s in sys.argv[3:]]
    with open(path, encoding="utf-8") as lines:
        epochs = [json.loads(line) for line in lines]
    period = next(e["epoch"] for e in epochs if "skew_score" in e)  # epochs from one check to the next
    checks = [e for e in epochs if e["epoch"] % period == 0]
    steps = period * checks[0].get("steps", 1)
    said = list(replay(checks, checks[0]["sync"], points / 100, steps, setting))
    for check, (score, rung) in zip(checks, said):
        want = (rung, setting[rung])
        if (check["skew_rung"], check["skew_setting"]) != want or abs(check["skew_score"] - score) > 1e-9:
            sys.exit(f"{path}, epoch {check['epoch']}: the rule says rung and setting {want}, score {score}: {check}")
    for before, after in zip(epochs[period - 1:], epochs[period:]):
        if after["epoch"] % period and after["skew_rung"] != before["skew_rung"]:
            sys.exit(f"{path}, epoch {after['epoch']}: a move without a check")
    rungs = [0] + [rung for _, rung in said]
    moves = [b - a for a, b in zip(rungs, rungs[1:])]
    print(f"{len(checks)} checks: {moves.count(1)} on, {moves.count(-1)} back")


if __name__ == "__main__":
    main()
