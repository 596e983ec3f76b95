"""weft.program: the program `weft`: where it is, how it is started, and what it says.

No shell is involved: words go to the program as they are. Its log goes to sys.stderr line by line, so that notebooks show it.
"""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

USAGE, UNSUPPORTED, STOPPED = 2, 69, 75  # exit codes of the program; `weft --help=exit-codes` lists all
HERE = os.path.dirname(os.path.abspath(__file__))
_ERROR_LINE = re.compile(r"^weft: (?:error: (?:\[rank \d+, exit \d+\] )?|warning: )")
_CHECKPOINT = re.compile(r"with a checkpoint in (.*)/ckpt; to go on: ")
_LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")


class Error(RuntimeError):
    """Weft refused what it was asked, or failed. The text is its own message, `status` its exit code."""

    def __init__(self, text: str, status: int = 1):
        super().__init__(text)
        self.status = status


class Stopped(Error):
    """A training ended early, by Ctrl-C or max_hours, after a good checkpoint. `path` is its run folder, or None if it is unknown:
    weft.load(path).resume() goes on."""

    def __init__(self, text: str, path: Optional[str] = None):
        super().__init__(text, STOPPED)
        self.path = path


def error_of(status: int, text: str) -> Error:
    if status != STOPPED:
        return Error(text, status)
    told = _CHECKPOINT.search(text)
    return Stopped(text, told.group(1) if told else None)


# ---- where things are -----------------------------------------------------------------------------------------------


def _first(paths: Sequence[Optional[str]]) -> Optional[str]:
    return next((path for path in paths if path and os.path.isfile(path)), None)


def named_program(weft: Optional[str]) -> Optional[str]:
    """The program that the caller named, or the variable WEFT."""
    return weft or os.environ.get("WEFT") or None


def find_program(weft: Optional[str] = None) -> Optional[str]:
    """The named program; else that of this Python's environment, of this installation, or on PATH. None: there is none."""
    return named_program(weft) or _first([os.path.join(sysconfig.get_path("scripts"), "weft"),
                                          os.path.join(HERE, *[os.pardir] * 4, "bin", "weft"), shutil.which("weft")])


def find_library(weft: Optional[str] = None) -> Optional[str]:
    """libweft.so beside the program that find_program finds, or within this package. None: there is none."""
    program = find_program(weft)
    beside = os.path.dirname(os.path.realpath(shutil.which(program) or program)) if program else HERE
    places = [beside, *(os.path.join(beside, os.pardir, name) for name in ("lib", "lib64", "lib/%s-linux-gnu" % os.uname().machine))]
    if named_program(weft) is None:
        places.insert(0, HERE)
    return _first([os.path.join(place, "libweft.so") for place in places])


def _mpirun() -> str:
    """The one on PATH, a cluster's own; where there is none that of this Python's environment, where pip may have put an MPI."""
    return "mpirun" if shutil.which("mpirun") else _first([os.path.join(sysconfig.get_path("scripts"), "mpirun")]) or "mpirun"


def _environment(launcher: Sequence[str]) -> Dict[str, str]:
    """That of the ranks: a launcher named by its path is the first on PATH, because the program takes the MPI beside the first mpirun."""
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": os.path.dirname(launcher[0]) + os.pathsep + path} if os.path.isabs(launcher[0]) else dict(os.environ)


MPIRUN = (_mpirun(), "-np")  # a launcher; the number of ranks follows


def launched_ranks() -> int:
    """Processes of the MPI job that this Python is one of; 0: it was started by itself."""
    return next((int(os.environ[name]) for name in _LAUNCHED if os.environ.get(name, "").isdigit()), 0)


# ---- options --------------------------------------------------------------------------------------------------------


def option_name(keyword: str) -> str:
    """weight_decay -> weight-decay; an underscore behind keeps a name apart from a word of Python: lambda_."""
    return keyword.rstrip("_").replace("_", "-")


def option_texts(options: Mapping[str, Any]) -> Dict[str, str]:
    """Options as the program's texts by name; those that are None are left out."""
    texts = {}
    for keyword, value in options.items():
        if value is None:
            continue
        if isinstance(value, (bool, np.bool_)):
            text = "on" if value else "off"
        elif isinstance(value, (list, tuple)):
            text = ",".join(map(str, value))
        else:
            text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
        if "\0" in text:
            raise ValueError("%s: a zero byte in the value %r" % (keyword, value))
        texts[option_name(keyword)] = text
    return texts


# ---- running --------------------------------------------------------------------------------------------------------


def message_of(log: Sequence[str], status: int) -> str:
    """What went wrong, of the lines that a failed program wrote."""
    if status == STOPPED:
        told = [line for line in log if " to go on: " in line]
    else:
        told = [line for line in log if line.startswith("weft: error: ")]
    if told:
        return "\n".join(_ERROR_LINE.sub("", line).strip() for line in told)
    if any("not enough slots" in line for line in log):
        return "this machine has fewer cores than ranks; launcher=(\"mpirun\", \"--oversubscribe\", \"-np\") starts them all the same, slower"
    text = "".join(log[-15:]).strip()
    if status < 0:
        text = "the program was ended by signal %d%s\n%s" % (-status, " (out of memory?)" if status == -signal.SIGKILL else "", text)
    return text.strip() or "exit status %d" % status


def _die_with_parent() -> None:
    """Linux sends the started program SIGTERM if this process dies: no training outlives its notebook."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _relay(process: "subprocess.Popen[str]", tell: Callable[[str], Any]) -> bool:
    """Hands the log on until the program ends. A first Ctrl-C asks it for a checkpoint and its end, a second one ends it. -> asked."""
    wishes = [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1]
    while True:
        try:
            for line in process.stderr:  # type: ignore[union-attr]
                tell(line)
            process.wait()
            return len(wishes) < 3
        except KeyboardInterrupt:
            process.send_signal(wishes.pop() if wishes else signal.SIGKILL)


def run(words: Sequence[str], *, weft: Optional[str] = None, ranks: int = 1, quiet: bool = False,
        launcher: Sequence[str] = MPIRUN, show: Optional[Callable[[str], Any]] = None) -> str:
    """Runs the program with these words, and returns what it printed.

    ranks: more than one are started by `launcher`, whose last word the number follows. quiet: its log is not shown; show: it is called
    with the lines of the log in place of sys.stderr. Error: it failed;
    Stopped: it ended early with a checkpoint."""
    program = find_program(weft)
    if program is None:
        raise Error("the program weft is not on PATH: install it, or name it: weft=\"build/release/weft\"", UNSUPPORTED)
    launch = [*launcher, str(ranks)] if ranks > 1 else []
    log: List[str] = []

    def tell(line: str) -> None:
        log.append(line)
        if show is not None:
            show(line)
        elif not quiet:
            sys.stderr.write(line)

    # A session of its own: Ctrl-C of a terminal goes to Python alone, because mpirun would leave its ranks no time.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        try:
            process = subprocess.Popen([*launch, program, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
                                       env=_environment(launcher), errors="replace", start_new_session=True, preexec_fn=_die_with_parent)
        except OSError as error:
            raise Error("%s: %s" % (error.filename, error.strerror), UNSUPPORTED) from None
        with process:
            interrupted = _relay(process, tell)
        out.seek(0)
        printed = out.read()
    status = process.returncode
    if interrupted and status not in (0, STOPPED):
        raise KeyboardInterrupt
    if status != 0:
        raise error_of(status, message_of(log, status))
    return printed


def command(name: str, arguments: Sequence[str], options: Mapping[str, Any], **how: Any) -> str:
    """run() for a command of the program: options by keyword, then arguments. how: as run() takes it."""
    texts = option_texts(options)
    return run([name, *("--%s=%s" % item for item in texts.items()), *arguments], **how)


def checked_ranks(ranks: Optional[int]) -> Tuple[int, bool]:
    """-> (ranks to start, whether this Python is itself one of a launcher's)."""
    here = launched_ranks()
    if ranks is not None and ranks < 1:
        raise ValueError("ranks: %d, expected 1 or more" % ranks)
    if here > 1 and ranks not in (None, here):
        raise ValueError("ranks: %s, but this script runs on %d ranks of its launcher, which train together: leave ranks out" % (ranks, here))
    return (ranks or 1, False) if here <= 1 else (here, True)
