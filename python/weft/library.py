"""weft.library: trainings and answers within this process, through libweft.so (include/weft/trainer.h, predictor.h).

The structures below mirror those of the header; nothing else of it is written down again.
"""

import contextlib
import ctypes
import io
import os
import signal
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional

from weft.program import error_of, find_library
from weft.progress import Bar


class Epoch(NamedTuple):
    """One epoch of a training; scores are NaN where it was not evaluated."""
    run: int
    epoch: int
    loss: float
    lr: float
    epoch_s: float
    train: float
    valid: float
    test: float


class _Epoch(ctypes.Structure):
    _fields_ = [("run", ctypes.c_int), ("epoch", ctypes.c_int64),
                *((name, ctypes.c_double) for name in ("loss", "lr", "epoch_s", "train", "valid", "test"))]


_ON_EPOCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Epoch))
_ASKED = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)


class _Watch(ctypes.Structure):
    _fields_ = [("self", ctypes.c_void_p), ("on_epoch", _ON_EPOCH), ("asked_to_stop", _ASKED)]


class _Result(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_int) for name in ("rank", "ranks", "threads", "runs")),
                *((name, ctypes.c_double) for name in ("test_mean", "test_std", "valid_mean", "valid_std", "epoch_s_median", "epoch_s_q1",
                                                       "epoch_s_q3", "seconds")),
                ("epochs", ctypes.c_int64), ("parameters", ctypes.c_int64), ("replication_factor", ctypes.c_double),
                ("predicted_peak_bytes", ctypes.c_uint64), ("run_dir", ctypes.c_char * 4096)]


def load(path: str) -> ctypes.CDLL:
    """The library at `path`; OSError: it, or one that it needs, cannot be loaded."""
    library = ctypes.CDLL(path)
    library.weft_error_message.restype = ctypes.c_char_p
    library.weft_options_create.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
    library.weft_options_set.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    library.weft_options_load.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library.weft_options_destroy.argtypes, library.weft_options_destroy.restype = [ctypes.c_void_p], None
    library.weft_predict.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
    library.weft_answers_write.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library.weft_answers_destroy.argtypes, library.weft_answers_destroy.restype = [ctypes.c_void_p], None
    library.weft_train_watched.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Watch), ctypes.POINTER(_Result)]
    return library


# ---- the log --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _log_shown(quiet: bool, bar: Optional[Bar] = None) -> Iterator[None]:
    """What C writes to descriptor 2 goes to sys.stderr: notebooks and tests put something else in its place. quiet: nowhere. bar: to it."""
    sys.stderr.flush()
    try:
        direct = sys.stderr.fileno() == 2
    except (OSError, ValueError, io.UnsupportedOperation):
        direct = False
    if direct and not quiet and bar is None:
        yield
        return
    kept = os.dup(2)
    shown = os.fdopen(os.dup(kept), "w", encoding=sys.stderr.encoding, errors="backslashreplace") if direct and bar is not None else None
    if bar is not None and shown is not None:  # what is written to sys.stderr comes back as lines of the log
        bar.draw_on(shown)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)

    def relay() -> None:
        with open(reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if bar is not None:
                    bar.line(line)
                elif not quiet:
                    sys.stderr.write(line)

    thread = threading.Thread(target=relay)
    thread.start()
    try:
        yield
    finally:
        os.dup2(kept, 2)  # closes the pipe's only end to write to
        os.close(kept)
        thread.join()
        if bar is not None and shown is not None:
            bar.draw_on(sys.stderr)
            shown.close()


# ---- stopping -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _interruptions() -> Iterator[List[int]]:
    """Ctrl-C fills the list in place of raising KeyboardInterrupt, which C code cannot let pass."""
    asked: List[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _affinity_kept() -> Iterator[None]:
    """A training pins its threads, the calling one too; that one gets its processors back."""
    before = os.sched_getaffinity(0)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


# ---- training -------------------------------------------------------------------------------------------------------


def own(weft: Optional[str]) -> Optional[ctypes.CDLL]:
    """The library beside the program, or None: this process cannot load it."""
    path = find_library(weft)
    try:
        return load(path) if path is not None else None
    except (OSError, AttributeError):  # MPI or another library is not where the loader looks: the program tells of it
        return None


def _options(library: ctypes.CDLL, command: str, texts: Mapping[str, str]) -> ctypes.c_void_p:
    options = ctypes.c_void_p()
    status = library.weft_options_create(command.encode(), ctypes.byref(options))
    for name, text in texts.items():
        if name == "config":  # the values of all others stay above those of the file
            status = status or library.weft_options_load(options, text.encode())
        else:
            status = status or library.weft_options_set(options, name.encode(), text.encode())
    if status:
        library.weft_options_destroy(options)
        raise error_of(status, library.weft_error_message().decode(errors="replace"))
    return options


def train(library: ctypes.CDLL, texts: Mapping[str, str], quiet: bool, on_epoch: Optional[Callable[[Epoch], Any]],
          bar: Optional[Bar] = None) -> Dict[str, Any]:
    """Trains with options of `weft train` by name, and returns the figures of weft_train_result. bar: shows the epochs.

    on_epoch is called after every epoch; what it raises ends the training with a checkpoint, and is raised. Error, Stopped: as
    weft.program has them."""
    raised: List[BaseException] = []
    result = _Result()

    def tell(_: Any, epoch: Any) -> None:
        try:
            if bar is not None:
                bar.epoch(epoch.contents.run + 1, epoch.contents.epoch, epoch.contents.loss)
            if on_epoch is not None and not raised:
                on_epoch(Epoch(*(getattr(epoch.contents, name) for name in Epoch._fields)))
        except BaseException as error:  # C code cannot let it pass
            raised.append(error)

    with _interruptions() as asked, _affinity_kept(), _log_shown(quiet, bar):
        watch = _Watch(None, _ON_EPOCH(tell), _ASKED(lambda _: bool(asked or raised)))
        options = _options(library, "train", texts)
        status = library.weft_train_watched(options, ctypes.byref(watch), ctypes.byref(result))
        text = library.weft_error_message().decode(errors="replace")
        library.weft_options_destroy(options)
    if raised:
        raise raised[0]
    if status:
        raise error_of(status, text)
    figures = {name: getattr(result, name) for name, _ in _Result._fields_}
    figures["run_dir"] = os.fsdecode(figures["run_dir"])
    return figures


def predict(library: ctypes.CDLL, texts: Mapping[str, str], folder: str, quiet: bool) -> None:
    """Writes the files of `weft predict` with these options into a new folder. Error: as weft.program has it."""
    answers = ctypes.c_void_p()
    with _affinity_kept(), _log_shown(quiet):
        options = _options(library, "predict", texts)
        status = library.weft_predict(options, ctypes.byref(answers))
        status = status or library.weft_answers_write(answers, os.fsencode(folder))
        text = library.weft_error_message().decode(errors="replace")
        library.weft_answers_destroy(answers)
        library.weft_options_destroy(options)
    if status:
        raise error_of(status, text)
