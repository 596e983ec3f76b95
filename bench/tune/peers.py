#!/usr/bin/env python3
"""peers.py [SEEDS]: Optuna's pruners on the recorded curves and the budget of curve_rates, for a comparison of equals.

    pip install optuna numpy ; WEFT_SHARED=FOLDER bench/tune/peers.py 20

Random configurations without replacement, one trial at a time, 30 full trainings' worth of epochs; regret of the best value
that was seen, 0: the best of all curves, 1: the median of their last epochs. With TPE a suggested configuration would have to
be trained, so its row is not here. A row a pruner: its mean regret over tasks, the standard error over seeds, trials.
"""
import os
import sys

import numpy as np
import optuna

TRAININGS = 30


def pruners(epochs):
    yield "none", optuna.pruners.NopPruner()
    for grace in (1, 3, 6):
        yield f"halving, grace {grace}", optuna.pruners.SuccessiveHalvingPruner(min_resource=grace, reduction_factor=3)
        yield f"hyperband, grace {grace}", optuna.pruners.HyperbandPruner(min_resource=grace, max_resource=epochs, reduction_factor=3)
        yield f"median, grace {grace}", optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=grace)


def search(curves, pruner, seed):
    """(regret, trials) of one search over curves [configurations, epochs]."""
    left = TRAININGS * curves.shape[1]
    study = optuna.create_study(direction="maximize", pruner=pruner, study_name=str(seed))
    best, trials = -np.inf, 0
    for curve in np.random.default_rng(seed).permutation(curves):
        if left <= 0:
            break
        trial, pruned = study.ask(), False
        trials += 1
        for epoch, value in enumerate(curve.tolist(), 1):
            trial.report(value, epoch)
            best = max(best, value)
            left -= 1
            pruned = epoch < len(curve) and trial.should_prune()
            if pruned or left <= 0:
                break
        study.tell(trial, **({"state": optuna.trial.TrialState.PRUNED} if pruned else {"values": value}))
    return (curves.max() - best) / (curves.max() - np.median(curves[:, -1])), trials


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = os.path.join(os.environ.get("WEFT_SHARED", "../shared"), "data/hpo/lcbench-curves.npz")
    curves = np.load(path)["val_accuracy"].astype(np.float64)
    for name, pruner in pruners(curves.shape[2]):
        found = np.array([[search(task, pruner, seed) for task in curves] for seed in range(seeds)])
        regret = found[:, :, 0].mean(axis=1)
        print(f"{name:20} {regret.mean():.4f} +- {regret.std() / np.sqrt(seeds - 1):.4f}  {found[:, :, 1].mean():5.0f} trials", flush=True)


if __name__ == "__main__":
    main()
