"""weft.loggers: runs handed on to Weights & Biases or MLflow, which are imported only here.

    weft.loggers.to_wandb("run", project="weft")          after a training, or beside one that goes on: follow=True
    weft.loggers.to_mlflow("run", experiment="weft")
    python3 -m weft.loggers wandb|mlflow RUN_DIR [--follow]

A training of several runs (--runs N) gives as many of theirs, together in a group (W&B) or below one parent (MLflow), each of
which has its epochs as steps. Nothing is sent that is not in run.json, metrics.jsonl and summary.json.
"""

import argparse
import json
import os
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Union

_PathLike = Union[str, "os.PathLike[str]"]


class Record(NamedTuple):
    """One epoch: number of its run from 1, epoch, and its figures by name."""
    run: int
    epoch: int
    figures: Dict[str, float]


def _json_of(*path: str) -> Dict[str, Any]:
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)


def records(folder: _PathLike, follow: bool = False, pause_s: float = 1.0) -> Iterator[Record]:
    """The epochs of a run folder. follow: also those that a job still writes, until it ends; a line that is not yet whole waits."""
    path, line = os.fspath(folder), ""
    with open(os.path.join(path, "metrics.jsonl"), encoding="utf-8") as metrics:
        while True:
            ended = not follow or "exit" in _json_of(path, "run.json")
            for part in metrics:
                line += part
                if not line.endswith("\n"):
                    break
                row, line = json.loads(line), ""
                figures = {name: float(value) for name, value in row.items()
                           if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in ("schema", "run", "epoch")}
                yield Record(row["run"], row["epoch"], figures)
            if ended:
                return
            time.sleep(pause_s)


class _Job(NamedTuple):
    """A run folder: its last name, the options by name, and what each run ended with, in order; none while the job goes on."""
    name: str
    options: Dict[str, str]
    finals: List[Dict[str, float]]


def _job(folder: _PathLike) -> _Job:
    path = os.path.abspath(os.fspath(folder))
    options = {name: str(entry["value"]) for name, entry in _json_of(path, "run.json")["options"].items()}
    finals: List[Dict[str, float]] = []
    if os.path.exists(os.path.join(path, "summary.json")):
        finals = [{"final_" + name: float(value) for name, value in row.items() if isinstance(value, (int, float))}
                  for row in _json_of(path, "summary.json")["run_results"]]
    return _Job(os.path.basename(path), options, finals)


def _final(finals: Sequence[Dict[str, float]], run: int) -> Dict[str, float]:
    return finals[run - 1] if run <= len(finals) else {}


def to_wandb(folder: _PathLike, *, project: str = "weft", follow: bool = False, **init: Any) -> List[str]:
    """Hands a run folder to Weights & Biases -> ids of their runs, one for each of --runs, in one group of the folder's name.

    follow: goes on until the job ends. init: more arguments of wandb.init, such as entity, mode="offline", dir."""
    import wandb
    job, opened = _job(folder), {}  # type: _Job, Dict[int, Any]
    for record in records(folder, follow):
        if record.run not in opened:
            opened[record.run] = wandb.init(**{"project": project, "group": job.name, "name": "%s/run-%d" % (job.name, record.run),
                                               "config": job.options, "reinit": "create_new", **init})
        opened[record.run].log(record.figures, step=record.epoch)
    finals = _job(folder).finals
    for number, run in opened.items():
        run.summary.update(_final(finals, number))
        run.finish()
    return [run.id for run in opened.values()]


def to_mlflow(folder: _PathLike, *, experiment: str = "weft", follow: bool = False, client: Any = None) -> List[str]:
    """Hands a run folder to MLflow -> ids of their runs: the parent, which has the options, then one below it for each of --runs.

    follow: goes on until the job ends. client: a MlflowClient; default: that of the tracking URI which MLflow is set to."""
    from mlflow.entities import Metric, Param
    if client is None:
        from mlflow.tracking import MlflowClient
        client = MlflowClient()
    job, opened, now = _job(folder), {}, int(time.time() * 1000)  # type: _Job, Dict[int, str], int
    found = client.get_experiment_by_name(experiment)
    place = found.experiment_id if found is not None else client.create_experiment(experiment)

    def begin(name: str, tags: Dict[str, str]) -> str:
        run = client.create_run(place, run_name=name, tags=tags).info.run_id
        given = [Param(key, value[:500]) for key, value in sorted(job.options.items())]
        for at in range(0, len(given), 100):  # MLflow takes 100 at a time
            client.log_batch(run, params=given[at:at + 100])
        return run

    def log(run: str, figures: Dict[str, float], step: int) -> None:
        client.log_batch(run, metrics=[Metric(name, value, now, step) for name, value in figures.items()])

    parent = begin(job.name, {})
    for record in records(folder, follow):
        if record.run not in opened:
            opened[record.run] = begin("%s/run-%d" % (job.name, record.run), {"mlflow.parentRunId": parent})
        log(opened[record.run], record.figures, record.epoch)
    finals = _job(folder).finals
    for number, run in opened.items():
        log(run, _final(finals, number), 0)
        client.set_terminated(run)
    client.set_terminated(parent)
    return [parent, *opened.values()]


def _main() -> None:
    parser = argparse.ArgumentParser(prog="weft.loggers", description="Hands a run folder to Weights & Biases or MLflow.")
    parser.add_argument("to", choices=("wandb", "mlflow"))
    parser.add_argument("folder", metavar="RUN_DIR")
    parser.add_argument("--follow", action="store_true", help="go on until the job ends")
    given = parser.parse_args()
    hand = to_wandb if given.to == "wandb" else to_mlflow
    print("\n".join(hand(given.folder, follow=given.follow)))


if __name__ == "__main__":
    _main()
