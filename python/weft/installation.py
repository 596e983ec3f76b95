"""weft.installation: weft.doctor(), what this installation is made of, and what is missing."""

import os
import platform
import shutil
import sys
from typing import Any, Dict

import numpy as np

from weft import library, program


def _versions(path: str) -> Dict[str, str]:
    lines = program.run(["--version", "--verbose"], weft=path, quiet=True).splitlines()
    return dict(line.split(": ", 1) for line in lines if ": " in line)


def doctor(*, weft: Any = None, quiet: bool = False) -> Dict[str, Any]:
    """Prints, unless quiet, and returns what weft.train works with: program, library, launcher, versions, processors, and `missing`, one
    line for each thing that is not there. `weft doctor` on the command line measures the machine."""
    found: Dict[str, Any] = {"python": platform.python_version(), "numpy": np.__version__, "missing": []}
    missing = found["missing"]
    found["program"] = path = program.find_program(weft)
    found["library"] = program.find_library(weft)
    found["launcher"] = shutil.which(program.MPIRUN[0])
    found["processors"] = len(os.sched_getaffinity(0))
    if path is None:
        missing.append("the program weft: install it, or name it with the variable WEFT")
    else:
        try:
            found.update((name, text) for name, text in _versions(path).items() if name not in found)
        except program.Error as error:
            missing.append("the program %s does not run: %s" % (path, error))
    if found["library"] is None:
        missing.append("libweft.so: trainings run in a process of their own, without on_epoch")
    else:
        try:
            library.load(found["library"])
        except OSError as error:
            missing.append("libweft.so cannot be loaded: %s" % error)
    if found["launcher"] is None:
        missing.append("mpirun: one rank alone trains; install the MPI that weft was built with")
    if not quiet:
        for name, value in found.items():
            if name != "missing":
                print("%s: %s" % (name, value), file=sys.stdout)
        for line in missing:
            print("missing: " + line)
    return found
