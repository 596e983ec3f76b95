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
import warnings
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Union

_PathLike = Union[str, "os.PathLike[str]"]


class Record(NamedTuple):
    """One epoch: number of its run from 1, epoch, and its figures by name."""
    run: int
    epoch: int
    figures: Dict[str, float]


def _json_of(*path: str) -> Dict[str, Any]:
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)


def _text_of(*path: str) -> Optional[str]:
    try:
        with open(os.path.join(*path), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def _process_ended(holder: Dict[str, Any]) -> Optional[bool]:
    """Whether the process that a lock names has ended; None: it is of another kernel or container, and cannot be looked for."""
    try:
        kernel = "%s %s" % ((_text_of("/proc/sys/kernel/random/boot_id") or "").strip(), os.readlink("/proc/self/ns/pid"))
    except OSError:
        return None
    if kernel != holder["kernel"]:
        return None
    try:
        os.kill(holder["process"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    stat = _text_of("/proc/%d/stat" % holder["process"])
    fields = stat.rpartition(")")[2].split() if stat else []
    return bool(fields) and (fields[0] in "ZX" or int(fields[19]) != holder["began"])


class _Lock:
    """The lock of a run folder, or of the search above it, judged as --resume judges it: a process of this kernel is looked for,
    one of another shows no sign of life in so many looks, so many seconds apart."""

    def __init__(self, folder: str, looks: int = 30, look_s: float = 1.0) -> None:
        self._paths = [os.path.join(folder, "run.lock"), os.path.join(os.path.abspath(folder), os.pardir, "search.lock")]
        self._most, self._look_s, self._looks, self._seen, self._next = looks, look_s, 0, "", 0.0

    def gone(self) -> bool:
        """Whether no job writes into the folder."""
        text = next((text for text in map(_text_of, self._paths) if text is not None), None)
        if text is None:
            return True
        try:
            ended = _process_ended(json.loads(text))
        except (ValueError, KeyError, TypeError):
            ended = None
        if ended is not None:
            return ended
        now = time.monotonic()
        if text != self._seen:
            self._seen, self._looks = text, 0
        elif now >= self._next:
            self._looks += 1
        else:
            return False
        self._next = now + self._look_s
        return self._looks >= self._most


def _wait_for(path: str, pause_s: float = 1.0) -> None:
    """Until a run has begun in the folder."""
    lock, told = _Lock(path), False
    while not os.path.exists(os.path.join(path, "metrics.jsonl")):
        if os.path.exists(os.path.join(path, "run.json")) and lock.gone():
            return
        if not told:
            warnings.warn("%s: no run has begun there yet: waiting for its first metrics" % path, RuntimeWarning, stacklevel=3)
        told = True
        time.sleep(pause_s)


def records(folder: _PathLike, follow: bool = False, pause_s: float = 1.0) -> Iterator[Record]:
    """The epochs of a run folder. follow: also those that a job still writes, until it ends; a line that is not yet whole waits.

    A run that has not begun is waited for. One that was killed ends with a RuntimeWarning, after the epochs that it wrote."""
    path, line = os.fspath(folder), ""
    lock = _Lock(path)
    if follow:
        _wait_for(path, pause_s)
    with open(os.path.join(path, "metrics.jsonl"), encoding="utf-8") as metrics:
        while True:
            gone = follow and lock.gone()  # before the look for its end, which a job writes before it leaves
            ended = not follow or "exit" in _json_of(path, "run.json")
            for part in metrics:
                line += part
                if not line.endswith("\n"):
                    break
                row, line = json.loads(line), ""
                figures = {name: float(value) for name, value in row.items()
                           if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in ("schema", "run", "epoch")}
                yield Record(row["run"], row["epoch"], figures)
            if gone and not ended:
                warnings.warn("%s: its job is gone without an end in run.json: it was killed; follow again when weft train --resume "
                              "goes on with it" % path, RuntimeWarning, stacklevel=2)
            if ended or gone:
                return
            time.sleep(pause_s)


class _Job(NamedTuple):
    """A run folder: its last name, the options by name, and what each run ended with, in order; none while the job goes on."""
    name: str
    options: Dict[str, str]
    finals: List[Dict[str, float]]


def _job(folder: _PathLike, follow: bool = False) -> _Job:
    path = os.path.abspath(os.fspath(folder))
    if follow:
        _wait_for(path)
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
    job, opened = _job(folder, follow), {}  # type: _Job, Dict[int, Any]
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
    job, opened, now = _job(folder, follow), {}, int(time.time() * 1000)  # type: _Job, Dict[int, str], int
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
