"""What test_options.sh runs: every option of every command, as `weft generate json` lists them, given to the program."""

import itertools
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

WEFT = sys.argv[1]
ACTING = ("help", "version", "print-config")  # answered at once, whatever else is said
NUMBERS = ("int", "real", "size", "time", "intlist")


def run(*arguments, env=None):
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}
    surroundings.update(env or {})
    done = subprocess.run([WEFT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, env=surroundings)
    return done.returncode, done.stdout, done.stderr


table = json.loads(run("generate", "json")[1])
options = {option["id"]: option for option in table["options"]}
commands = table["commands"]
pairs = [(command, options[name]) for command in commands for name in command["options"]]
exercised = {"accepted": set(), "refused": set(), "misspelt": set()}


def is_first(command, option):
    return next(other for other in commands if option["id"] in other["options"]) is command


# Refusals and misspelt names: each option with one command, and every fifth with the others. unit_app_option_table refuses all.
asked = [pair for i, pair in enumerate(pairs) if is_first(*pair) or i % 5 == 0]


def note(kind, command, option):
    exercised[kind].add((command["name"], option["id"]))


def number(value):
    return repr(int(value)) if value == int(value) else repr(value)


def largest_but(option):
    """The largest value that is not the default."""
    return next(v for v in (number(option["max"]), number(option["min"])) if v != option["default"])


def valid_values(option):
    kind = option["type"]
    if kind == "flag":
        return ["on", "off", "true", "no"]
    if kind == "choice":
        return option["choices"]
    if "choices" in option and kind == "text":
        return [*option["choices"], "own/a.file"]
    if kind == "text":
        return ["a name", ""]
    units = {"size": ["1KiB", "2 MiB"], "time": ["2m", "1 h"]}.get(kind, [])
    return [number(option["min"]), number(option["max"]), *units, *option.get("choices", [])]


def invalid_values(option):
    """(value, what the message must say)."""
    kind = option["type"]
    if kind == "flag":
        return [("maybe", ["a flag is on or off"])]
    if "choices" in option and kind != "real":
        return [("no-such-choice", ["one of " + ", ".join(option["choices"])])]
    if kind == "text":
        return [("a\tb", ["control characters"])]
    what = {"int": "not an integer", "real": "not a number", "size": "not a size", "time": "not a time",
            "intlist": "not an integer"}[kind]
    limits = ["must be between", bound(option["min"]), bound(option["max"])]
    return [("fast", [what]), (number(option["min"] - 1), limits), (number(option["max"] * 2 + 1), limits)]


def bound(value):
    """As messages write it: whole numbers in digits up to 2^53."""
    return number(value) if value == int(value) and abs(value) < 1e6 else ""


def arguments_of(command):
    return ["argument"] * command["min_arguments"]


# ---- accepted: all options of a command at once, in as many rounds as an option has values ----

def check_accepted():
    for command in commands:
        own = [options[name] for name in command["options"] if options[name]["name"] not in ACTING]
        values = {option["id"]: valid_values(option) for option in own}
        for turn in range(max(len(list_) for list_ in values.values())):
            line = []
            for option in own:
                if option["name"] == "config":
                    continue
                value = values[option["id"]][turn % len(values[option["id"]])]
                names = [name for name in [option["name"], *option["aliases"]] if len(name) > 1]
                line.append("--%s=%s" % (names[turn % len(names)], value))
                note("accepted", command, option)
            code, out, err = run(command["name"], *arguments_of(command), *line, "--print-config")
            assert code == 0 and "[general]" in out, "weft %s %s\n%s" % (command["name"], " ".join(line), err)
        for name in ACTING:
            code, out, err = run(command["name"], "--" + name)
            assert code == 0 and out and not err, "weft %s --%s: %s" % (command["name"], name, err)
            note("accepted", command, next(o for o in table["options"] if o["name"] == name))
        open("empty.conf", "w").close()
        code, _, err = run(command["name"], *arguments_of(command), "--config", "empty.conf", "--print-config")
        assert code == 0, err
        note("accepted", command, options["CONFIG"])


# ---- refused: below, above, of another type, of no choice; from the command line, and once from file and environment ----

def expect_refusal(parts, *arguments, env=None, lines=1):
    code, out, err = run(*arguments, env=env)
    shown = "weft %s (%s): exit %d: %s" % (" ".join(arguments), env, code, err)
    assert code == 2, shown
    assert not out and err.count("\n") <= lines, shown
    for part in parts:
        assert part in err, "lacks %r: %s" % (part, shown)


def check_refused_pair(pair):
    """Every bad value with the first command that has the option, one with other commands."""
    command, option = pair
    for value, parts in invalid_values(option) if is_first(command, option) else invalid_values(option)[-1:]:
        expect_refusal(["--%s %s" % (option["name"], value) if option["type"] != "text" else "--" + option["name"],
                        *parts], command["name"], *arguments_of(command), "--%s=%s" % (option["name"], value))
    note("refused", command, option)


def check_refused_elsewhere(option):
    command = next(command for command in commands if option["id"] in command["options"])
    value, parts = invalid_values(option)[-1]
    if "config file" in option["sources"] and option["type"] != "text":
        name = "bad-%s-%s.conf" % (command["name"], option["id"])
        with open(name, "w") as file:
            file.write("# first\n[%s]\n%s = %s\n" % (option["section"], option["name"], value))
        expect_refusal(["%s: line 3: %s = %s" % (name, option["name"], value), *parts],
                       command["name"], *arguments_of(command), "--config", name)
    if "environment" in option["sources"]:
        variable = "WEFT_" + option["name"].upper().replace("-", "_")
        expect_refusal([variable, "in the environment", *parts], command["name"], *arguments_of(command),
                       env={variable: value})


# ---- misspelt ----

def distance(a, b):
    """Edit distance with swaps of neighbours, by the textbook recurrence."""
    rows = [[i + j if i * j == 0 else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, j in itertools.product(range(1, len(a) + 1), range(1, len(b) + 1)):
        rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


def check_misspelt(pair):
    command, option = pair
    known = [name for other in command["options"] for name in [options[other]["name"], *options[other]["aliases"]]
             if len(name) > 1]
    name = option["name"]
    wrong = name[:1] + name[2:] if len(name) > 3 else name + "x"
    if wrong in known:
        wrong = name + "xx"
    code, _, err = run(command["name"], *arguments_of(command), "--%s=1" % wrong)
    assert code == 2 and "unknown option --%s: did you mean --" % wrong in err, "--%s: %s" % (wrong, err)
    suggested = err.split("did you mean --")[1].split("?")[0]
    told = distance(wrong, suggested)
    nearer = [other for other in known if abs(len(other) - len(wrong)) < told and distance(wrong, other) < told]
    assert not nearer, "--%s: %s is not the nearest, %s is" % (wrong, suggested, nearer)
    note("misspelt", command, option)


# ---- sources: file, environment and command line in one training, as run.json tells ----

def check_sources():
    """Each option of train that a tiny training can take is set thrice; the strongest wins and is named."""
    tiny = {"EPOCHS": ("1", "2"), "RUNS": ("1", "2"), "LAYERS": ("2", "3"), "HIDDEN": ("8", "4"), "SEED": ("1", "2"),
            "DATA": ("synth:quickstart,scale=0.001", "synth:quickstart,scale=0.002"), "BACKEND": ("ref", "cpu"),
            "THREADS": ("1", "2"), "DROPOUT": ("0.25", "0.5"), "INPUT_DROPOUT": ("0", "0.25"), "LR": ("0.02", "0.05"),
            "WEIGHT_DECAY": ("0.001", "0.5"), "MOMENTUM": ("0.25", "0.5"), "WARMUP": ("1", "2"),
            "SCHEDULE_STEP": ("3", "4"), "SCHEDULE_GAMMA": ("0.25", "0.75"), "EVAL_EVERY": ("1", "2"),
            "PATIENCE": ("3", "4"), "RECIPE": ("default", "kipf"), "BALANCE": ("1.5", "2"),
            "PARTITION_SEED": ("1", "2"), "QUIET": ("on", "off")}
    order = ("config file", "environment", "command line")
    train = next(command for command in commands if command["name"] == "train")
    chosen = [options[name] for name in train["options"] if name in tiny]
    assert len(chosen) == len(tiny)
    config, env, line, expected = [], {}, [], {}
    for i, option in enumerate(chosen):
        good, other = tiny[option["id"]]
        strongest = i % 3
        expected[option["name"]] = {"value": good, "source": order[strongest]}
        config.append("%s = %s" % (option["name"], good if strongest == 0 else other))
        if strongest > 0:
            env["WEFT_" + option["id"]] = good if strongest == 1 else other
        if strongest > 1:
            line.append("--%s=%s" % (option["name"], good))
    with open("all.conf", "w") as file:
        file.write("\n".join(config) + "\n")
    code, _, err = run("train", "--config", "all.conf", "--run-dir", "sources", *line, env=env)
    assert code == 0, err
    told = json.load(open("sources/run.json"))["options"]
    for name, entry in expected.items():
        assert told[name] == entry, "%s: %s, expected %s" % (name, told[name], entry)
    for option in (options[name] for name in train["options"]):
        name = option["name"]
        assert name in told, "run.json lacks %s" % name
        if name not in expected and name not in ("config", "run-dir"):
            entry = {"value": option["default"], "source": "default"}
            if name == "normalize":  # auto: decided by the graph, which has values of both signs
                entry = {"value": "standard", "source": "data"}
            if name == "feature-form":  # what is standardised is nowhere 0
                entry = {"value": "whole", "source": "data"}
            if name == "feature-place":  # auto: the reference backend computes in the host's memory
                entry = {"value": "device", "source": "data"}
            if name == "edge-weights":  # auto: a generated graph has none
                entry = {"value": "off", "source": "data"}
            if name == "last-layer":  # auto: six in ten vertices train
                entry = {"value": "read", "source": "data"}
            if name == "model":  # auto: of a graph
                entry = {"value": "sage", "source": "data"}
            if name == "loss":  # auto: the graph has classes
                entry = {"value": "xent", "source": "data"}
            if name == "choices":  # the reference backend has one form
                entry = {"value": "spmm=r-------", "source": "data"}
            assert told[name] == entry, (name, told[name])


# ---- options against each other ----

def check_needs():
    """An option that another one leaves without effect is warned about; with the right choice it is not."""
    needs = [(option, need) for option in table["options"] for need in option["needs"]]
    assert len(needs) >= 25
    for option, need in needs:
        other = options[need["option"]]
        value = largest_but(option) if "max" in option else {"flag": "on", "text": "64" if option["default"] == "auto" else "60/20/20" if "/" in option["default"] else "3,5"}.get(option["type"]) or \
            next(choice for choice in option["choices"] if choice != option["default"])
        # The data are missing: the job ends before anything is computed, after its options are checked.
        absent = {"convert": ["convert", "absent", "--out", "none"],
                  "explanations": ["explain", "--data", "absent"],
                  "scaling": ["predict-scaling", "--data", "absent"]}.get(option["section"], ["train", "--data", "absent"])
        given = "--%s %s (command line) has no effect with" % (option["name"], value)
        if need["choices"] == ["*"]:
            idle, useful = [], ["--%s=60/20/20" % other["name"]]
            warned = "%sout --%s" % (given, other["name"])
        else:
            wrong = next(c for c in other.get("choices", ["off", "on"]) if c not in need["choices"])
            idle, useful = (["--%s=%s" % (other["name"], choice)] for choice in (wrong, need["choices"][0]))
            warned = "%s --%s %s (command line): it belongs to --%s %s" % (
                given, other["name"], wrong, other["name"], "|".join(need["choices"]))
        assert warned in run(*absent, "--%s=%s" % (option["name"], value), *idle)[2], warned
        beside = given + (" " if need["choices"] != ["*"] else "")
        assert beside not in run(*absent, "--%s=%s" % (option["name"], value), *useful)[2], warned
    # From a config file the default's value is no choice of the user's: --print-config writes it down.
    with open("defaults.conf", "w") as file:
        file.write("topk-density = 0.01\nmomentum = 0\n")
    assert "no effect" not in run("train", "--data", "absent", "--config", "defaults.conf")[2]
    err = run("train", "--data", "absent", env={"WEFT_TOPK_DENSITY": "0.5"})[2]
    assert "--topk-density 0.5 (environment) has no effect with --sync allreduce (default)" in err, err


def check_contradictions():
    for line, parts in [
            ("--quiet --verbose", ["--quiet and --verbose contradict each other"]),
            ("--reproducible --allreduce ring", ["--reproducible on (command line)", "--allreduce ring"]),
            ("--reproducible --wire bf16", ["--reproducible on", "--wire bf16 (command line)", "rounded sums"]),
            ("--reproducible --sync topk", ["--reproducible on", "--sync topk", "every gradient"]),
            ("--reproducible --sync auto --allow-lossy", ["--reproducible on", "--allow-lossy on"]),
            ("--sync topk --nesterov", ["--nesterov on", "--sync topk"]),
            ("--recipe default --optimizer sgd --nesterov", ["--nesterov on", "--momentum 0 (default)", "above 0"]),
            ("--patience 5 --eval-every 0", ["--patience 5", "--eval-every 0"]),
            ("--gradient-tracking", ["--gradient-tracking on", "--sync allreduce"]),
            ("--sync shadow --shadow-share 0.05 --shadow-gap 8", ["--shadow-share 0.05 and --shadow-gap 8", "give one"]),
            ("--resume --force", ["--resume", "--force"]),
            ("--lr 1 --lr 2", ["--lr 2: --lr is already 1 from the command line"])]:
        expect_refusal(parts, "train", "--data", "absent", *line.split(), lines=2)  # and that of the node
    expect_refusal(["--splits a.npz", "--random-split 60/20/20", "contradict"], "convert", "absent", "--out", "none",
                   "--splits", "a.npz", "--random-split", "60/20/20")
    with open("one.conf", "w") as file:
        file.write("reproducible = on\n")
    expect_refusal(["--reproducible on (config file)", "--allreduce ring (environment)"], "train", "--data", "absent",
                   "--config", "one.conf", env={"WEFT_ALLREDUCE": "ring"}, lines=2)
    for line in ["--reproducible --allreduce fixed-order", "--optimizer sgd --nesterov --momentum 0.9",
                 "--reproducible --sync auto"]:
        code, _, err = run("train", "--data", "absent", *line.split())
        assert code == 66 and "contradict" not in err, "%s: exit %d: %s" % (line, code, err)


def check_after_recipe():
    """Where the data choose a recipe, rules about what it sets are told once, when it has set them."""
    images = "synth:images,n=32,size=28,channels=1,classes=2,test=8"  # recipe images: sgd with momentum 0.9
    graph = "synth:quickstart,scale=0.002"  # recipe few-labels: adam, no momentum
    for data, line, code, told in [
            (images.replace("28", "8"), "", 0, None),  # smaller than what lenet takes
            (images, "--nesterov", 0, None),
            (images, "--optimizer sgd --nesterov", 0, None),
            (images, "--momentum 0 --nesterov", 2, "--nesterov on (command line) and --momentum 0 (command line) contra"),
            (images, "--optimizer adam --nesterov", 0, "--nesterov on (command line) has no effect with --optimizer adam"),
            (images, "--spmm rows", 0, "--spmm rows (command line) has no effect with --model lenet (data)"),
            *((graph, "--model sage --aggregator max --spmm " + form, 0,
               "--spmm %s has no effect with --aggregator max: take rows, shared or auto" % form) for form in ("lists", "blocks", "tiles")),
            *((graph, "--model sage --aggregator max --spmm " + form, 0, None) for form in ("auto", "rows", "shared")),
            (graph, "--nesterov", 0, "--nesterov on (command line) has no effect with --optimizer adam (default)"),
            (graph, "--optimizer sgd --nesterov", 2, "--nesterov on (command line) and --momentum 0 (default) contra"),
            (graph, "--optimizer sgd --nesterov --momentum 0.5", 0, None),
            (graph, "--model sage --weight-init uniform", 0, None),
            (graph, "--model gat --weight-init uniform", 0, "--weight-init uniform (command line) has no effect with --model gat"),
            (graph, "--model gat --weight-init uniform --jumping cat", 0, None),
            (graph, "--model sgc --dropout 0.3", 0, None),  # few-labels: --input-dropout follows it
            (graph, "--model sgc --dropout 0.3 --input-dropout 0", 0, "--dropout 0.3 (command line) has no effect with --model sgc"),
            (graph, "--model sgc --norm layer", 0, "--norm layer (command line) has no effect with --model sgc"),
            (graph, "--layers 1 --hidden 7", 0, "--hidden 7 (command line) has no effect with one layer"),
            (graph, "--layers 1 --hidden 7 --jumping cat", 0, None),
            (graph, "--layers 1 --hidden 7 --model gin", 0, None),
            (graph, "--layers 1 --model gat --heads 2", 0, "--heads 2 (command line) has no effect with one layer"),
            (graph, "--layers 2 --residual", 0, "--residual on (command line) has no effect with one hidden layer"),
            (graph, "--layers 3 --residual", 0, None),
            (graph, "--schedule step --schedule-at 5 --schedule-step 9", 0, "--schedule-step 9 (command line) has no effect with --schedule-at 5"),
            (graph, "--epochs 20 --eval-every 5 --patience 4", 0, "--patience 4 (command line) has no effect with --epochs 20"),
            (graph, "--epochs 20 --eval-every 5 --patience 3", 0, None)]:
        got, _, err = run("train", "--data", data, "--dry-run", "--threads", "1", *line.split())
        assert got == code, "%s %s: exit %d: %s" % (data, line, got, err)
        rules = [text for text in err.splitlines() if "no effect" in text or "contradict" in text]
        assert len(rules) == (told is not None) and all(told in text for text in rules), "%s: %s" % (line, err)


check_accepted()
with ThreadPoolExecutor(2) as pool:
    list(pool.map(check_refused_pair, [pair for pair in asked if pair[1]["name"] not in ACTING]))
    list(pool.map(check_misspelt, asked))
    list(pool.map(check_refused_elsewhere, [o for o in table["options"] if o["name"] not in ACTING]))
for name in ACTING:  # --help takes topics; the other two are flags
    for command in commands:
        wrong = "no-such-topic" if name == "help" else "maybe"
        expect_refusal([wrong], command["name"], *arguments_of(command), "--%s=%s" % (name, wrong))
        note("refused", command, next(o for o in table["options"] if o["name"] == name))
check_sources()
check_needs()
check_contradictions()
check_after_recipe()

every, some = ({(command["name"], option["id"]) for command, option in list_} for list_ in (pairs, asked))
for kind, due in (("accepted", every), ("refused", some), ("misspelt", some)):
    missing = due - exercised[kind]
    assert not missing, "not %s: %s" % (kind, sorted(missing))
assert {name for name, _ in some} == {command["name"] for command in commands}, "a command is asked nothing"
assert {name for _, name in some} == set(options), "an option is asked of no command"
assert {name for _, name in every} == set(options), "an option belongs to no command"
print("%d options, %d pairs of command and option: every one accepted, %d refused and misspelt; %d rules" %
      (len(options), len(every), len(some), sum(len(option["needs"]) for option in table["options"])))
