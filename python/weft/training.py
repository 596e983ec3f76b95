"""weft.training: weft.train(): within this process where one rank trains, by the program under a launcher where more do."""

import contextlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, Union

from weft import library, program
from weft.data import data_of
from weft.library import Epoch
from weft.options import TrainOptions
from weft.progress import Bar, wanted
from weft.run import Run

if TYPE_CHECKING:
    from typing_extensions import Unpack

_RUN_FOLDER = re.compile(r"^run folder: (.*)$", re.M)


def train(data: Any, *, ranks: Optional[int] = None, run_dir: Union[str, "os.PathLike[str]", None] = None, quiet: bool = False,
          progress: Optional[bool] = None, on_epoch: Optional[Callable[[Epoch], Any]] = None, in_process: Optional[bool] = None, weft: Optional[str] = None,
          launcher: Sequence[str] = program.MPIRUN, **options: "Unpack[TrainOptions]") -> Run:
    """Trains a model, as `weft train` does, and returns its run.

    data: a weft.Graph, weft.Table or weft.Images, a path, "synth:...", or a graph of PyG or DGL.
    ranks: processes that train together. One trains within this process; more are started by `launcher`, to which the number is appended
    (("srun", "-n") under Slurm). A script that mpirun itself started leaves ranks out: its processes train together, each calls train.
    run_dir: the folder of the run; default: a new weft-run-NNNN below the current folder.
    quiet: the log, which goes to sys.stderr, is left out.
    progress: True: a bar stands in place of the log's lines of epochs, with quiet in place of all of it; False: no bar; default: where the
    log is shown in a terminal or a notebook.
    on_epoch: called after every epoch with a weft.Epoch, within this process; what it raises ends the training with a checkpoint.
    in_process: False: the program trains, also with one rank; True: an error tells why this process cannot.
    weft: the program, or the variable WEFT; default: the one of this Python's environment, else the one on PATH.
    options: those of `weft train` with `_` for `-`, listed below; the program judges them.

    Ctrl-C ends the training after a checkpoint: weft.Stopped, whose `path` weft.load(path).resume() goes on with. weft.Error has the
    program's message for everything that it refuses; ValueError and TypeError are about arrays.
    """
    source = data_of(data)
    texts = program.option_texts({"run_dir": run_dir, **options, "data": os.fspath(source)})
    count, launched = program.checked_ranks(ranks)
    within = launched or (count == 1 and in_process is not False)
    loaded = library.own(weft) if within else None
    bar = Bar(not quiet) if (wanted(sys.stderr) and not quiet if progress is None else progress) else None
    if loaded is not None:
        with bar or contextlib.nullcontext():
            figures = library.train(loaded, texts, quiet, on_epoch, bar)
        return Run(figures["run_dir"], source, weft)
    if in_process or launched or on_epoch is not None:
        raise program.Error("%s: no libweft.so that can be loaded: install weft, or build its target weft_shared" % "in_process, on_epoch"
                            if count == 1 or launched else "in_process, on_epoch: %d ranks train outside of this process" % count,
                            program.UNSUPPORTED)
    with bar or contextlib.nullcontext():
        printed = program.command("train", (), texts, weft=weft, ranks=count, quiet=quiet, launcher=launcher, show=bar and bar.line)
    folder = _RUN_FOLDER.search(printed)
    if folder is None:
        raise program.Error("a dry run leaves no run:\n" + printed, program.USAGE)
    return Run(folder.group(1), source, weft)


train.__doc__ = (train.__doc__ or "") + "\n    Options:\n\n" + (TrainOptions.__doc__ or "")
