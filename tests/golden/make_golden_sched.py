#!/usr/bin/env python3
"""make_golden_sched.py: what the schedulers of Optuna and Ray decide for made-up events: tests/golden/sched.txt.

    pip install optuna==5.0.0 ; make_golden_sched.py optuna            (another environment may have Ray)
    pip install 'ray[tune]==2.60.0' ; make_golden_sched.py ray
    make_golden_sched.py check        the rules written once more from their description: they must agree with the file

Each program's own scheduler is asked, none of its code is ours. A group begins with
"KIND maximise=B max=R grace=G reduction=F trials=N"; then an event a line: "TRIAL RESOURCE VALUE DECISION". Trials
report in a random order, with ties, jumps over rungs and values that are no number. A trial is not heard of again after
such a value, after "stop", and after "complete", which is what the file says wherever a trial reaches R.
"""
import math
import os
import random
import sys

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sched.txt")
KINDS = {"optuna": ("asha-optuna", "median-optuna"), "ray": ("asha-stop", "median")}
GROUPS = [(50, 2, 3, 30), (100, 3, 4, 40), (30, 4, 2, 24)]  # max, grace, reduction, trials


def optuna_judge(kind, maximise, most, grace, reduction, trials):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruner = (optuna.pruners.SuccessiveHalvingPruner(min_resource=grace, reduction_factor=reduction)
              if kind == "asha-optuna" else optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=grace))
    study = optuna.create_study(direction="maximize" if maximise else "minimize", pruner=pruner)
    asked = [study.ask() for _ in range(trials)]

    def judge(trial, resource, value):
        asked[trial].report(value, resource)
        stop = asked[trial].should_prune()
        if resource >= most and not math.isnan(value):
            study.tell(asked[trial], value)
        elif stop or math.isnan(value):
            study.tell(asked[trial], state=optuna.trial.TrialState.PRUNED)
        return stop
    return judge


class RayTrial:
    def __init__(self, number):
        self.trial_id = str(number)


class RayController:
    def get_live_trials(self):
        return []


def ray_judge(kind, maximise, most, grace, reduction, trials):
    from ray.tune.schedulers import ASHAScheduler, MedianStoppingRule
    mode = "max" if maximise else "min"
    scheduler = (ASHAScheduler(time_attr="t", metric="v", mode=mode, max_t=most, grace_period=grace,
                               reduction_factor=reduction, brackets=1) if kind == "asha-stop" else
                 MedianStoppingRule(time_attr="t", metric="v", mode=mode, grace_period=grace, min_samples_required=3))
    known = [RayTrial(i) for i in range(trials)]
    for trial in known:
        scheduler.on_trial_add(RayController(), trial)

    def judge(trial, resource, value):
        result = {"t": resource, "v": value}
        if kind == "median" and resource >= most:
            scheduler.on_trial_complete(RayController(), known[trial], result)
            return False
        return scheduler.on_trial_result(RayController(), known[trial], result) == "STOP"
    return judge


# ---- the rules, from their description ----

def halving_by_quantile(kind, maximise, most, grace, reduction, trials):
    rungs = []
    while grace < most:
        rungs.insert(0, (grace, {}))
        grace *= reduction

    def judge(trial, resource, value):
        score = value if maximise else -value
        for level, recorded in rungs:
            if resource < most and level <= resource and trial not in recorded:
                known = sorted(v for v in recorded.values() if not math.isnan(v))
                stop = False
                if known:
                    place = (len(known) - 1) * (1 - 1 / reduction)
                    low = int(place)
                    high = min(low + 1, len(known) - 1)
                    stop = score < known[low] + (known[high] - known[low]) * (place - low) - 1e-12
                recorded[trial] = score
                return stop
        return False
    return judge


def halving_by_count(kind, maximise, most, grace, reduction, trials):
    recorded, passed = {}, [0] * trials

    def judge(trial, resource, value):
        score = value if maximise else -value
        while grace * reduction ** passed[trial] <= resource:
            if math.isnan(value):
                return True
            at = recorded.setdefault(passed[trial], [])
            at.append(score)
            passed[trial] += 1
            if sum(other > score for other in at) >= max(len(at) // reduction, 1):
                return True
        return False
    return judge


def median_of(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def median_judge(kind, maximise, most, grace, reduction, trials):
    curves = [[] for _ in range(trials)]

    def is_complete(curve):
        return bool(curve) and curve[-1][0] >= most and not math.isnan(curve[-1][1])

    def others(trial, resource):
        for number, curve in enumerate(curves):
            if number == trial or not curve:
                continue
            if kind == "median" and curve[-1][0] >= resource:
                seen = [v for r, v in curve if grace <= r <= resource]
                if seen and not any(map(math.isnan, seen)):
                    yield sum(seen) / len(seen)
            elif kind == "median-optuna" and is_complete(curve):
                yield from (v for r, v in curve if r == resource)

    def judge(trial, resource, value):
        curves[trial].append((resource, value if maximise else -value))
        complete = sum(is_complete(curve) for curve in curves)
        if resource < grace or (kind == "median-optuna" and complete < 5):
            return False
        values = list(others(trial, resource))
        if len(values) < (3 if kind == "median" else 1):
            return False
        return max(v for _, v in curves[trial]) < median_of(values) - 1e-12
    return judge


RULES = {"asha-stop": halving_by_quantile, "asha-optuna": halving_by_count, "median": median_judge,
         "median-optuna": median_judge}


# ---- events ----

def events(seed, most, trials, judge):
    """Lines of one group. Ends of trials follow the judge's decisions."""
    rng = random.Random(seed)
    at, level, alive, lines = [0] * trials, [rng.random() for _ in range(trials)], list(range(trials)), []
    while alive:
        trial = rng.choice(alive[:8])
        at[trial] += rng.choice([1, 1, 1, 1, 2, 5, 16])
        value = round(level[trial] * (1 - 1 / (at[trial] + 1)) + 0.1 * rng.random(), rng.choice([1, 2, 6]))
        value = math.nan if rng.random() < 0.01 else value
        stop = judge(trial, at[trial], value)
        decision = "stop" if math.isnan(value) else "complete" if at[trial] >= most else "stop" if stop else "continue"
        lines.append(f"{trial} {at[trial]} {value!r} {decision}")
        if decision != "continue":
            alive.remove(trial)
    return lines


def groups(kinds, judge_of):
    text = {}
    for kind in kinds:
        for maximise in (0, 1):
            for number, (most, grace, reduction, trials) in enumerate(GROUPS):
                title = f"{kind} maximise={maximise} max={most} grace={grace} reduction={reduction} trials={trials}"
                judge = judge_of(kind, maximise, most, grace, reduction, trials)
                text[title] = events(f"{kind} {maximise} {number}", most, trials, judge)
    return text


def read():
    text = {}
    if os.path.exists(FILE):
        for line in open(FILE, encoding="utf-8"):
            if "=" in line:
                title = line.strip()
                text[title] = []
            else:
                text[title].append(line.strip())
    return text


def check(text):
    wrong = 0
    for title, lines in text.items():
        kind, *fields = title.split()
        maximise, most, grace, reduction, trials = (int(field.split("=")[1]) for field in fields)
        judge = RULES[kind](kind, maximise, most, grace, reduction, trials)
        for line in lines:
            trial, resource, value, decision = line.split()
            value = float(value)
            stop = judge(int(trial), int(resource), value)
            ours = ("stop" if math.isnan(value) else "complete" if int(resource) >= most
                    else "stop" if stop else "continue")
            if ours != decision:
                wrong += 1
                print(f"{title}: {line}: the rule says {ours}")
    print(f"{sum(map(len, text.values()))} decisions of {len(text)} groups, {wrong} differ")
    return 1 if wrong or not text else 0


def main():
    if sys.argv[1:] == ["check"]:
        return check(read())
    program = sys.argv[1]
    text = {title: lines for title, lines in read().items() if title.split()[0] not in KINDS[program]}
    text.update(groups(KINDS[program], optuna_judge if program == "optuna" else ray_judge))
    with open(FILE, "w", encoding="utf-8") as stream:
        for title in sorted(text):
            stream.write("\n".join([title, *text[title]]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
