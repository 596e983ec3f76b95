"""weft.progress: a bar in place of the lines of epochs, for terminals and notebooks. Lines of the log stand above it."""

import os
import re
import sys
import threading
import time
from typing import Any, Optional, Tuple

from weft import program

_START = re.compile(r"weft: training: .*, (\d+) epochs$")
_EPOCH = re.compile(r"weft: Run: (\d+), Epoch: (\d+),.*?Loss: ([^,\s]+)")
_END = re.compile(r"weft: Run (\d+): .*\(epoch \d+ of (\d+)\b")
_LEFT = re.compile(r", ETA (.+)$")
_WIDTH, _EVERY_S = 30, 0.1


def wanted(stream: Any) -> bool:
    """Whether lines can be written over: a terminal, or the output of a notebook's cell."""
    if program.launched_ranks() > 1:  # an MPI lends terminals to files
        return False
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return True
    return bool(getattr(stream, "isatty", lambda: False)()) and os.environ.get("TERM") != "dumb"


class Bar:
    """The epochs of a training, on sys.stderr. log: its other lines are shown, too. Any thread may call it."""

    def __init__(self, log: bool):
        self._stream, self._log, self._lock = sys.stderr, log, threading.Lock()
        self._epochs: Optional[int] = None
        self._drawn, self._more, self._due = 0, "", 0.0
        self._at: Tuple[int, int] = (0, 0)  # run, epoch

    def draw_on(self, stream: Any) -> None:
        """Another way to where the bar stands: what is written from now on goes there."""
        with self._lock:
            self._stream.flush()
            self._stream = stream

    def line(self, text: str) -> None:
        """A line of the log."""
        start, epoch, end, left = _START.match(text), _EPOCH.match(text), _END.match(text), _LEFT.search(text)
        if start is not None:
            self._epochs = int(start.group(1)) or None
        if epoch is not None:
            self.epoch(int(epoch.group(1)), int(epoch.group(2)), float(epoch.group(3)), left.group(1) if left else "")
            return
        if end is not None:
            self.epoch(int(end.group(1)), int(end.group(2)))
        if self._log:
            with self._lock:
                self._draw("")
                self._stream.write(text)
                self._draw(self._text())

    def epoch(self, run: int, epoch: int, loss: Optional[float] = None, left: str = "") -> None:
        """Epoch `epoch` of a run, from 1, is over; left: the time until the end. The log may tell it later than the library does."""
        with self._lock:
            if (run, epoch) <= self._at:
                return
            self._at = run, epoch
            self._more = ("" if loss is None else " loss %.4g" % loss) + (", %s left" % left if left else "")
            if time.monotonic() >= self._due:
                self._draw(self._text())
                self._due = time.monotonic() + _EVERY_S

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: Any) -> None:
        """What was shown last stays, and the next line begins below it."""
        with self._lock:
            self._draw(self._text())
            self._stream.write("\n" if self._at[0] else "")
            self._stream.flush()

    def _text(self) -> str:
        run, epoch = self._at
        done = "" if self._epochs is None else "/%d [%s]" % (self._epochs, ("#" * (_WIDTH * epoch // self._epochs)).ljust(_WIDTH, "."))
        return "run %d, epoch %d%s%s" % (run, epoch, done, self._more) if run else ""

    def _draw(self, text: str) -> None:
        """Spaces go over what is left of a longer text: notebooks know no codes of terminals."""
        if text or self._drawn:
            self._stream.write("\r" + text.ljust(self._drawn) + ("" if text else "\r"))
            self._stream.flush()
        self._drawn = len(text)
