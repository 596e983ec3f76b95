#!/usr/bin/env python3
"""live_curves.py BUILD [SEEDS [ROW...]]: searches of a space of learning curves, ours and Optuna's, at one budget.

    pip install onnxruntime optuna numpy ; cmake --build --preset release --target curve_search
    WEFT_SHARED=FOLDER bench/tune/live_curves.py build/release 20

Curves are answers of the YAHPO surrogate of LCBench, for any configuration: six tasks of 52 epochs, a budget of 30 full
trainings, one trial at a time. A row's figures are the regret of the best accuracy that was seen: 0 is the best of 20,000
random configurations, 1 the median of their last epochs, below 0 a better one; a task each, and their mean with its standard
error over seeds. A row of ours is
SCHEDULER:GRACE:SEARCHER; one of Optuna's optuna:GRACE, TPE with successive halving, and grace 0 without halving.
"""
import json
import os
import subprocess
import sys

import numpy as np
import onnxruntime

TASKS = ("3945", "7593", "126026", "167152", "168868", "189906")
EPOCHS, TRAININGS, RANDOM = 52, 30, 20_000
AT_ONCE = 200  # configurations that the surrogate answers together, in 100 MB
ROWS = ("fifo:0:random", "fifo:0:auto", "asha:6:random", "asha:3:auto", "asha:6:auto", "pasha:6:auto", "optuna:0", "optuna:6")
# name, kind, low, high, in the order of the surrogate's inputs behind the epoch
SPACE = (("batch_size", "int-log", 16, 512), ("learning_rate", "log", 1e-4, 0.1), ("momentum", "real", 0.1, 0.99),
         ("weight_decay", "real", 1e-5, 0.1), ("num_layers", "int", 1, 5), ("max_units", "int-log", 64, 1024), ("max_dropout", "real", 0, 1))


class Surrogate:
    def __init__(self, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.path.join(folder, "lcbench.model.onnx"), options)
        with open(os.path.join(folder, "lcbench.encoding.json"), encoding="utf-8") as file:
            self.number = json.load(file)["OpenML_task_id"]

    def accuracy(self, task, configs, epochs):
        """[configs, epochs]"""
        configs = np.atleast_2d(np.asarray(configs, np.float32))
        rows = np.concatenate([np.tile(epochs.astype(np.float32), len(configs))[:, None], np.repeat(configs, len(epochs), axis=0)], axis=1)
        cats = np.full((len(rows), 1), self.number[task], np.int32)
        (out,) = self.session.run(None, {"x_cat": cats, "x_cont": rows})  # columns: time, accuracy, ...
        return out[:, 1].astype(np.float64).reshape(len(configs), len(epochs))

    def scale(self, task, configs, epochs):
        """The best of all values, and the median of the last ones."""
        parts = [self.accuracy(task, configs[at : at + AT_ONCE], epochs) for at in range(0, len(configs), AT_ONCE)]
        return max(part.max() for part in parts), np.median(np.concatenate([part[:, -1] for part in parts]))


def at_random(rng, count):
    columns = []
    for _, kind, low, high in SPACE:
        column = np.exp(rng.uniform(np.log(low), np.log(high), count)) if kind.endswith("log") else rng.uniform(low, high, count)
        columns.append(np.rint(column) if kind.startswith("int") else column)
    return np.stack(columns, axis=1)


def ours(build, row, curve, seed):
    kind, grace, searcher = row.split(":")
    command = [os.path.join(build, "tests", "curve_search"), kind, grace, searcher, str(seed), str(EPOCHS), str(EPOCHS * TRAININGS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            words = line.split()
            if words[0] == "best":
                return float(words[1]), int(words[2])
            process.stdin.write(" ".join(f"{v:.17g}" for v in curve([float(w) for w in words])) + "\n")
            process.stdin.flush()
    raise RuntimeError(f"{' '.join(command)} ended early")


def suggest(trial, name, kind, low, high):
    if kind.startswith("int"):
        return trial.suggest_int(name, low, high, log=kind.endswith("log"))
    return trial.suggest_float(name, low, high, log=kind == "log")


def optunas(row, curve, seed):
    import optuna  # a peer: rows of ours need none

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    grace = int(row.split(":")[1])
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=grace, reduction_factor=3) if grace else optuna.pruners.NopPruner()
    study = optuna.create_study(direction="maximize", pruner=pruner, sampler=optuna.samplers.TPESampler(seed=seed), study_name=str(seed))
    best, left, trials = -np.inf, EPOCHS * TRAININGS, 0
    while left > 0:
        trial, pruned = study.ask(), False
        trials += 1
        values = curve([suggest(trial, *dimension) for dimension in SPACE])
        for epoch, value in enumerate(values, 1):
            trial.report(value, epoch)
            best, left = max(best, value), left - 1
            pruned = epoch < EPOCHS and trial.should_prune()
            if pruned or left == 0:
                break
        study.tell(trial, **({"state": optuna.trial.TrialState.PRUNED} if pruned else {"values": value}))
    return best, trials


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    surrogate = Surrogate(os.path.join(os.environ.get("WEFT_SHARED", "../shared"), "data/hpo/yahpo"))
    epochs = np.arange(1, EPOCHS + 1)
    known = {task: surrogate.scale(task, at_random(np.random.default_rng(0), RANDOM), epochs) for task in TASKS}
    print(f"{'row':20}  " + "  ".join(f"{task:>6}" for task in TASKS) + "  mean", flush=True)
    for row in sys.argv[3:] or ROWS:
        regret, trials = np.zeros((seeds, len(TASKS))), 0
        for seed in range(seeds):
            for place, task in enumerate(TASKS):
                def curve(config):
                    return surrogate.accuracy(task, config, epochs)[0].tolist()
                best, count = (optunas if row.startswith("optuna") else lambda *a: ours(build, *a))(row, curve, seed)
                regret[seed, place] = (known[task][0] - best) / (known[task][0] - known[task][1])
                trials += count
        means = regret.mean(axis=1)
        print(f"{row:20}  " + "  ".join(f"{r:6.3f}" for r in regret.mean(axis=0)) +
              f"  {means.mean():.4f} +- {means.std() / np.sqrt(max(seeds - 1, 1)):.4f}  {trials / seeds / len(TASKS):.0f} trials", flush=True)


if __name__ == "__main__":
    main()
