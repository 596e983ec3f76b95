"""Trainings and answers of the study: calls of the program on files of chosen stays, and folds of patients."""
import concurrent.futures
import csv
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
import time

import numpy as np

from mods import indexes

FOLDS = 5
# What a model may be, from coarse to fine; which of them is taken is decided by the training folds alone.
CANDIDATES = {
    "shallow": "--trees 400 --depth 3 --lr 0.03 --subsample 0.7 --colsample 0.3".split(),
    "middle": "--trees 200 --leaves 15 --lr 0.05 --subsample 0.8 --colsample 0.5".split(),
    "plain": "--trees 150 --leaves 15 --lr 0.05".split(),
}


def deal(groups, died, seed):
    """-> the fold of each stay. All stays of a group go to one fold; groups with a death and those without are dealt in turn, in an
    order that a hash of seed and group gives, so that the deal is the same with every version of every library."""
    ends = {}
    for group, end in zip(groups, died, strict=True):
        ends[group] = max(ends.get(group, 0), end)
    order = sorted(ends, key=lambda group: (ends[group], hashlib.sha256(f"{seed}:{group}".encode()).hexdigest()))
    fold = {group: place % FOLDS for place, group in enumerate(order)}
    return np.array([fold[group] for group in groups])


class Progress:
    """Says on stderr how many of the trainings are done, and when they will be."""

    def __init__(self, total):
        self.total, self.done, self.begin, self.said = total, 0, time.monotonic(), 0.0

    def step(self):
        self.done += 1
        now = time.monotonic()
        if now - self.said > 5 or self.done == self.total:
            self.said = now
            left = (now - self.begin) / self.done * (self.total - self.done)
            print(f"training {self.done} of {self.total}, {left:.0f} s left", file=sys.stderr, flush=True)


class Trainer:
    """Trains models on stays and answers for others; the files of a call stand below `work` and go when it ends."""

    def __init__(self, weft, work, jobs):
        self.weft, self.work, self.jobs, self.calls, self.progress = os.path.abspath(weft), work, jobs, itertools.count(), None
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)

    def run(self, *words):
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run([self.weft, *words], env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{self.weft} {' '.join(words)}\nexit {done.returncode}\n{done.stderr[-2000:]}")

    def answer(self, columns, training, died, asked, candidate, contributions=False):
        """Trains on the rows `training` with their outcomes. -> the probability of death of the rows `asked`, and with contributions
        what each column adds to the logit of each of them [rows, columns]."""
        folder = os.path.join(self.work, str(next(self.calls)))
        os.makedirs(folder)
        train, test, model, out = (os.path.join(folder, name) for name in ("train.csv", "test.csv", "model", "answers"))
        write(train, [*columns, "died"], [[*row, end] for row, end in zip(training, died, strict=True)])
        write(test, columns, asked)
        self.run("train", "--data", train, "--target", "died", "--model", "trees", "--valid-share", "0", "--test-share", "0", "--threads", "1",
                 "--run-dir", model, *CANDIDATES[candidate])
        self.run("predict", "--data", test, "--checkpoint", model, "--out", out, "--threads", "1", *["--contributions"] * contributions)
        found = np.load(os.path.join(out, "probabilities.npy"))[:, 1].astype(float)
        why = np.load(os.path.join(out, "contributions.npy"))[:, 1, :-1] if contributions else None
        shutil.rmtree(folder)
        if self.progress:
            self.progress.step()
        return found, why

    def map(self, calls):
        """calls: functions without arguments. -> their results, in order; as many run side by side as there are jobs."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(lambda call: call(), calls))


def write(path, columns, rows):
    with open(path, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([columns, *rows])


def picked(values, keep):
    return [value for value, kept in zip(values, keep, strict=True) if kept]


class Judged:
    """Stays with the answers of models that have not seen their patients."""

    def __init__(self, died, p, said, chosen, why):
        self.y = np.array(died)
        self.p = p  # probability of death
        self.said = said  # 1 where it reaches the threshold of the training folds
        self.chosen = chosen  # candidate of each fold
        self.why = why  # what each column adds to the logit [stays, columns]


def fold_scores(trainer, source, fold, candidates):
    """Answers for the stays of folds i and j by models that saw neither. -> {(candidate, i): scores of all stays outside fold i}"""
    def ask(candidate, i, j):
        seen, asked = (fold != i) & (fold != j), (fold == i) | (fold == j)
        answers, _ = trainer.answer(source.columns, picked(source.rows, seen), picked(source.died, seen), picked(source.rows, asked), candidate)
        return candidate, i, j, asked, answers
    calls = [(candidate, i, j) for candidate in candidates for i, j in itertools.combinations(range(FOLDS), 2)]
    scores = {(candidate, i): np.full(len(fold), np.nan) for candidate in candidates for i in range(FOLDS)}
    for candidate, i, j, asked, answers in trainer.map([lambda call=call: ask(*call) for call in calls]):
        whole = np.full(len(fold), np.nan)
        whole[asked] = answers
        scores[candidate, i][fold == j] = whole[fold == j]
        scores[candidate, j][fold == i] = whole[fold == i]
    return scores


def cross_validate(trainer, source, seed, groups):
    """Five folds of `groups`. Of each fold the candidate is the one of the least log loss, and the threshold Youden's, over the stays
    of the four other folds, answered for by models that saw neither their fold nor this one."""
    fold, y = deal(groups, source.died, seed), np.array(source.died)
    scores, chosen, threshold = fold_scores(trainer, source, fold, CANDIDATES), [], []
    for i in range(FOLDS):
        rest = fold != i
        chosen.append(min(CANDIDATES, key=lambda candidate, i=i, rest=rest: indexes.log_loss(y[rest], scores[candidate, i][rest])))
        threshold.append(indexes.youden(y[rest], scores[chosen[i], i][rest]))

    def judge(i):
        rest = fold != i
        return trainer.answer(source.columns, picked(source.rows, rest), picked(source.died, rest), picked(source.rows, ~rest), chosen[i], True)
    p, why = np.zeros(len(y)), np.zeros((len(y), len(source.columns)))
    for i, (answers, reasons) in enumerate(trainer.map([lambda i=i: judge(i) for i in range(FOLDS)])):
        p[fold == i], why[fold == i] = answers, reasons
    return Judged(y, p, (p >= np.array(threshold)[fold]).astype(int), chosen, why)


TRAININGS = FOLDS + len(CANDIDATES) * FOLDS * (FOLDS - 1) // 2  # of cross_validate


def score_alone(score, y, fold):
    """A clinical score as the only answer. -> Judged, of the threshold of the other folds."""
    said = np.zeros(len(y), int)
    for i in range(FOLDS):
        said[fold == i] = score[fold == i] >= indexes.youden(y[fold != i], score[fold != i])
    return Judged(y, score, said, [], None)
