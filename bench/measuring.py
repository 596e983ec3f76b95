"""What the scripts below bench/ share: paths, calls of programs, turns, quartiles, and the record of a machine.

Standard library only, but for intervals. A script of bench/ imports it as it is; one of bench/peers puts the folder above its own on sys.path first.
"""
import contextlib
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time

BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(BENCH)
WEFT = os.path.join(ROOT, "build", "release", "weft")
VENV = os.environ.get("WEFT_PEERS_VENV", os.path.join(ROOT, "build", "peers-venv"))
VENV_PYTHON = os.path.join(VENV, "bin", "python")
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Failed(SystemExit):
    """A program that was measured did not do its work; the text, which ends a script that does not catch it, says which and why."""


# ---- calls ----------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def told(command):
    """Prints the command on stderr, and how long all of it took: a slow start shows in no epoch."""
    print("+ " + " ".join(command), file=sys.stderr, flush=True)
    begin = time.perf_counter()
    yield
    print(f"  {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)


def environment(threads=None):
    """Environment of a measured program, without WEFT_PEERS_*, which weft would read as options, and without the switch
    that slows Open MPI's large messages down (tests set it): the peer runs as it was installed."""
    values = {**os.environ, **MPI_ENVIRONMENT}
    for name in ("WEFT_PEERS_VENV", "WEFT_PEERS_XGBOOST", "OMPI_MCA_btl_vader_single_copy_mechanism"):
        values.pop(name, None)
    if threads is not None:
        values["OMP_NUM_THREADS"] = str(threads)
    return values


def run(command, threads=None, quiet=False):
    """Runs a program to its end. -> the CompletedProcess, with stdout and stderr as text; raises Failed on a bad exit."""
    command = [str(word) for word in command]
    with contextlib.nullcontext() if quiet else told(command):
        done = subprocess.run(command, env=environment(threads), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}\nexit {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")
    return done


# A child's peak begins with the memory of the process that starts it, so a small one stands between.
ALONE = """import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "mib": used.ru_maxrss / 1024}))
sys.exit(done.returncode)"""


def run_alone(command, threads=None):
    """Runs a program to its end. -> processor seconds of all its threads, and the peak of its resident memory in MiB, mapped files
    included; raises Failed on a bad exit."""
    begin = time.perf_counter()
    done = run([sys.executable, "-c", ALONE, *command], threads, quiet=True)
    return {**json.loads(done.stdout.splitlines()[-1]), "wall": time.perf_counter() - begin}


def mpirun(ranks):
    """The words that start a program on so many ranks of this machine; they may outnumber its cores."""
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks)]


def split_extra(words):
    """-> (the words before "--", those behind it)"""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1:]


def enter_peers_venv():
    """Starts the running script again with the Python of bench/peers/setup, unless that one runs it already."""
    if not os.access(VENV_PYTHON, os.X_OK):
        sys.exit(f"no environment in {VENV}: run bench/peers/setup")
    if os.path.realpath(sys.prefix) != os.path.realpath(VENV):
        os.execv(VENV_PYTHON, [VENV_PYTHON] + [os.path.abspath(sys.argv[0])] + sys.argv[1:])


def peer_arguments(parser):
    """-> the arguments of a script that trains Weft beside another program: those of `parser`, and what all of them take."""
    parser.add_argument("--weft", type=os.path.abspath, default=WEFT)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def children_cpu():
    """Processor seconds of all children that have ended, all threads together."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


# ---- samples --------------------------------------------------------------------------------------------------------
def quartiles(samples):
    """-> median, q1, q3 (linear between the samples, ends included), their number, and the samples."""
    samples = list(samples)
    low, middle, high = samples * 3 if len(samples) == 1 else statistics.quantiles(samples, n=4, method="inclusive")
    return {"median": middle, "q1": low, "q3": high, "n": len(samples), "samples": samples}


def take_turns(rounds, sides):
    """Calls each function of {name: function} once a round, in order, so that all see the machine's moods.

    -> {name: [what the calls returned]}"""
    found = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            found[name].append(side())
    return found


def spread(samples):
    """-> mean, and half the width of its 95 % interval by Student's t, nan of one sample; needs SciPy."""
    from scipy.stats import t
    half = t.ppf(0.975, len(samples) - 1) * statistics.stdev(samples) / len(samples) ** 0.5 if len(samples) > 1 else float("nan")
    return statistics.mean(samples), half


def interval(samples):
    """Mean and half the width of its 95 % interval, as a word; needs SciPy."""
    return "{:.2f} ± {:.2f}".format(*spread(samples))


def digits(value, wanted=3):
    """A number with so many significant digits, never in powers of ten."""
    if value == 0:
        return "0"
    places = wanted - 1 - int(f"{abs(value):.{wanted - 1}e}".split("e")[1])
    return f"{value:.{max(places, 0)}f}"


# ---- files ----------------------------------------------------------------------------------------------------------
def read_json(path):
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)


def read_lines(path):
    """Objects of a file with one JSON object a line. A last line that is not whole yet is left out."""
    with open(path, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream if line.endswith("}\n")]


def write_whole(path, text):
    """The file is replaced whole or stays as it was."""
    with open(path + ".part", "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(path + ".part", path)


# ---- the machine ----------------------------------------------------------------------------------------------------
def first_value(path, key):
    with open(path, encoding="utf-8") as stream:
        return next((line.split(":", 1)[1].strip() for line in stream if line.startswith(key)), "")


def caches():
    """-> {"L1d": "32K", "L2": ...} of the first processor; sizes as the kernel gives them."""
    found, folder = {}, "/sys/devices/system/cpu/cpu0/cache"
    for index in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        level, kind, size = (open(os.path.join(folder, index, name), encoding="utf-8").read().strip()
                             for name in ("level", "type", "size")) if index.startswith("index") else ("", "", "")
        if kind in ("Data", "Unified"):
            found[f"L{level}" + ("d" if kind == "Data" else "")] = size
    return found


def busy_seconds():
    """Processor seconds that all programs took since the machine started, with what its host took away (steal)."""
    with open("/proc/stat", encoding="utf-8") as stream:
        user, nice, system, _, _, irq, softirq, steal = map(int, stream.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


class Neighbours:
    """Counts the processors that programs other than this one and its children took since it was made."""

    def __init__(self):
        self.begin = self.clocks()

    def clocks(self):
        return busy_seconds() - children_cpu() - time.process_time(), time.perf_counter()

    def processors(self):
        (busy, wall), (busy_then, wall_then) = self.clocks(), self.begin
        return max(0.0, (busy - busy_then) / (wall - wall_then))


def machine():
    """The record of the machine that stands in every file of results."""
    family = first_value("/proc/cpuinfo", "cpu family"), first_value("/proc/cpuinfo", "model\t")
    return {"processor": first_value("/proc/cpuinfo", "model name"), "family": "/".join(family),
            "cores": len(os.sched_getaffinity(0)), "caches": caches(), "memory": first_value("/proc/meminfo", "MemTotal"),
            "kernel": platform.release(), "load": os.getloadavg()[0]}


def record(subject, origin, weft, quick=False):
    """-> the head of a file of results: what was measured, by which script, when, where, and with which program."""
    program = build(weft)
    return {"subject": subject, "origin": f"measured by {origin}", "quick": quick, "commit": program["revision"],
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "machine": machine(), "build": program}


def build(weft):
    """-> {"revision": ..., "compiler": ..., ...}: what `weft info build` says of the program."""
    lines = run([weft, "info", "build"], quiet=True).stdout.splitlines()
    return dict(line.split(": ", 1) for line in lines if ": " in line)
