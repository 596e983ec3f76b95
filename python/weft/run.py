"""weft.run: a training that is over: its figures, weights and answers, read from its run folder."""

import functools
import json
import os
import tempfile
from typing import Any, Dict, NamedTuple, Optional, Sequence, Union

import numpy as np

from weft import library, program, store
from weft.data import Data, data_of

_PathLike = Union[str, "os.PathLike[str]"]
# Options of the next start alone, or of the place where the job ran.
_PASSING = ("resume", "force", "run-dir", "config", "data", "dry-run", "quiet", "verbose")


class Answers(NamedTuple):
    """What a model answers: predictions [n, 1], or [n, tasks]; probabilities [n, classes], None of models that give none; scores by split
    and class, as scores.json has them."""
    predictions: np.ndarray
    probabilities: Optional[np.ndarray]
    scores: Dict[str, Any]


def _json_of(path: str) -> Dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Run:
    """A run folder of `weft train`. data: what it was trained on, where it is not the path that the folder remembers."""

    def __init__(self, path: _PathLike, data: Union[Data, str, None] = None, weft: Optional[str] = None):
        self.path = os.fspath(path)
        record = os.path.join(self.path, "run.json")
        if not os.path.exists(record):
            raise FileNotFoundError("%s: no run folder of weft train: there is no run.json in it" % self.path)
        self._record = _json_of(record)
        self._weft = weft
        self.data = data if data is not None else self._record["options"]["data"]["value"]

    def __repr__(self) -> str:
        metric = self.summary.get("metric", "score")
        return "weft.Run(%r: test %s %s, valid %s)" % (self.path, metric, self.summary.get("test_mean"), self.summary.get("valid_mean"))

    @functools.cached_property
    def metrics(self) -> Dict[str, np.ndarray]:
        """One array a figure, one entry an epoch; NaN where an epoch has no such figure. pandas.DataFrame(run.metrics) is a table."""
        return store.read_metrics(self.path)

    @functools.cached_property
    def summary(self) -> Dict[str, Any]:
        """summary.json: scores at the best epoch, seconds, memory, traffic."""
        return _json_of(os.path.join(self.path, "summary.json"))

    @property
    def options(self) -> Dict[str, str]:
        """Options that were given or that Weft chose by the data; all others have their defaults."""
        return {name: entry["value"] for name, entry in self._record["options"].items() if entry["source"] != "default"}

    @property
    def test(self) -> float:
        """The test score at the epoch of the best validation score, mean over the runs."""
        return self.summary["test_mean"]

    @property
    def best_epoch(self) -> int:
        """The epoch of the best validation score, whose weights the run keeps; of the first run, where there are several."""
        return self.summary["run_results"][0]["best_epoch"]

    @property
    def weights(self) -> Dict[str, np.ndarray]:
        """Parameters of the best epoch by name; every file is compared with its checksum."""
        return store.read_checkpoint(self.path)["parameters"]

    @property
    def model(self) -> Any:
        """The forest of a run of boosted trees, as weft.trees.load gives it."""
        from weft import trees
        return trees.load(self.path, weft=self._weft)

    @property
    def predictions(self) -> np.ndarray:
        """Answers for the rows of the training's own data, as the training left them."""
        return np.load(os.path.join(self.path, "predictions.npy"))

    def _asked(self, data: Any, options: Dict[str, Any]) -> Dict[str, Any]:
        source = data_of(data) if data is not None else self.data
        return {**options, "data": os.fspath(source), "checkpoint": self.path}

    def _answer(self, out: str, data: Any, ranks: int, launcher: Sequence[str], quiet: bool, in_process: bool,
                options: Dict[str, Any]) -> None:
        """The files of `weft predict` in the new folder `out`: by this process where one rank answers, else by the program."""
        asked = self._asked(data, options)
        loaded = library.own(self._weft) if in_process and ranks == 1 and program.launched_ranks() <= 1 else None
        if loaded is not None:
            library.predict(loaded, program.option_texts(asked), out, quiet)
        else:
            program.command("predict", (), {**asked, "out": out}, weft=self._weft, ranks=ranks, launcher=launcher, quiet=quiet)

    def embeddings(self, data: Any = None, *, ranks: int = 1, launcher: Sequence[str] = program.MPIRUN, quiet: bool = True,
                   in_process: bool = True, **options: Any) -> np.ndarray:
        """The rows [vertices, width] that the last layer of a network on a graph reads, of a model of links those that its decoder reads."""
        with tempfile.TemporaryDirectory(prefix="weft-predict-") as folder:
            out = os.path.join(folder, "answers")
            self._answer(out, data, ranks, launcher, quiet, in_process, {**options, "embeddings": True})
            return np.load(os.path.join(out, "embeddings.npy"))

    def predict(self, data: Any = None, *, ranks: int = 1, launcher: Sequence[str] = program.MPIRUN, quiet: bool = True,
                in_process: bool = True, **options: Any) -> Answers:
        """The model's answers for all rows of `data`, by default for those that it was trained on. options: of `weft predict`.
        in_process: False: the program answers, also with one rank."""
        with tempfile.TemporaryDirectory(prefix="weft-predict-") as folder:
            out = os.path.join(folder, "answers")
            self._answer(out, data, ranks, launcher, quiet, in_process, options)
            arrays = [os.path.join(out, name) for name in ("predictions.npy", "probabilities.npy")]
            found = [np.load(path) if os.path.exists(path) else None for path in arrays]
            return Answers(found[0], found[1], _json_of(os.path.join(out, "scores.json")))

    def evaluate(self, data: Any = None, *, ranks: int = 1, launcher: Sequence[str] = program.MPIRUN, quiet: bool = True,
                 **options: Any) -> Dict[str, Any]:
        """Scores on `data` by split and class, as `weft eval` tells them. options: of `weft eval`."""
        asked = {**self._asked(data, options), "format": "json"}
        return json.loads(program.command("eval", (), asked, weft=self._weft, ranks=ranks, launcher=launcher, quiet=quiet))

    def resume(self, **changed: Any) -> "Run":
        """Goes on from the newest checkpoint, with the options that the training had but for those given here, such as epochs=400.
        ranks, quiet, on_epoch, weft and launcher are those of weft.train."""
        from weft.training import train
        given = {name: entry["value"] for name, entry in self._record["options"].items()
                 if entry["source"] not in ("default", "data") and name not in _PASSING}
        new = {program.option_name(key): key for key in changed}
        kept = {name.replace("-", "_"): value for name, value in given.items() if name not in new}
        return train(self.data, run_dir=self.path, resume=True, **kept, **changed)

    def export(self, out: _PathLike, **options: Any) -> str:
        """Writes the model for other programs, as `weft export` does, such as "model.safetensors" or "model.onnx" -> its path."""
        program.command("export", (self.path,), {**options, "out": os.fspath(out)}, weft=self._weft, quiet=True)
        return os.fspath(out)

    def report(self, out: Optional[_PathLike] = None) -> str:
        """Writes a page about the run, by default report.html in its folder -> its path."""
        target = os.fspath(out) if out is not None else os.path.join(self.path, "report.html")
        program.command("report", (self.path,), {"out": target, "force": True}, weft=self._weft, quiet=True)
        return target


def load(path: _PathLike, data: Any = None, *, weft: Optional[str] = None) -> Run:
    """The run of a folder that `weft train` or weft.train wrote."""
    return Run(path, data_of(data) if data is not None else None, weft)
