"""Weft: training of graph networks, networks on images, boosted trees and models of clicks on CPUs, one machine or many.

    import weft

    graph = weft.Graph(edge_index, x, y, train=train_mask, valid=val_mask, test=test_mask)
    run = weft.train(graph, model="sage", hidden=64, epochs=100)
    run.metrics["valid"], run.test, run.weights
    run.predict().probabilities

weft.Table and weft.Images hold other data, weft.load(path) reads a run folder, weft.doctor() tells what this installation is made of.
weft.store reads and writes graph stores, metrics and checkpoints; weft.trees has boosted trees with models that NumPy answers for.
Keywords of train are the options of `weft train`; help(weft.train) lists them.
"""

from typing import Any

from weft.data import Graph, Images, Table
from weft.installation import doctor
from weft.library import Epoch
from weft.program import Error, Stopped
from weft.run import Answers, Run, load
from weft.training import train

__all__ = ["Answers", "Epoch", "Error", "Graph", "Images", "Run", "Stopped", "Table", "doctor", "load", "train"]


def __getattr__(name: str) -> Any:
    if name == "__version__":  # of the program, as that is what trains
        return doctor(quiet=True)["weft"]
    raise AttributeError("module 'weft' has no attribute %r" % name)
