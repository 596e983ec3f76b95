#!/usr/bin/env bash
# The pages that users read: README's length and first screen, every link and every path that a page names, every option of weft in
# a command, and the exit codes, which are those of the program.
# trees: release
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
"$weft" --help=exit-codes >/dev/null || fail "weft --help=exit-codes"
python3 - "$weft" "$source_dir" <<'PY'
import json
import os
import re
import subprocess
import sys

weft, root = sys.argv[1:]
problems = []


def run(*arguments):
    return subprocess.run([weft, *arguments], stdout=subprocess.PIPE, check=True).stdout.decode()


def say(page, what):
    problems.append("%s: %s" % (page, what))


pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
pages += sorted("docs/" + name for name in os.listdir(root + "/docs") if name.endswith(".md"))
text = {page: open(os.path.join(root, page), encoding="utf-8").read() for page in pages}

# ---- README ----
readme = text["README.md"]
lines = readme.split("\n")
if len(lines) > 170:
    say("README.md", "%d lines, at most 170" % len(lines))
first = "\n".join(lines[:40])
tables = len(re.findall(r"^\|---", first.split("\n## ")[0], re.M))
if tables != 1 or not all(word in first for word in ("DGL", "PyG", "epoch", "losses")):
    say("README.md", "the first screen has %d tables, or not the epochs beside DGL and PyG" % tables)
for word in ("scripts/quickstart", "scripts/test", "--schedule", "--patience", "--resume", "docs/howto-build.md"):
    if word not in readme:
        say("README.md", "no word of " + word)
for page in ("docs/performance.md", "docs/performance-machines.md"):
    if text[page].count("\n") > 250:
        say(page, "%d lines, at most 250" % text[page].count("\n"))
rows = re.findall(r"^\| (?:GraphSAGE|GCN) .*$", readme, re.M)
if len(rows) != 3:
    say("README.md", "%d rows of models beside DGL, not 3" % len(rows))

# ---- links and paths ----


def anchors(page):
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text[page], flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


for page in pages:
    folder = os.path.dirname(page)
    for target in re.findall(r"\]\(([^)\s]+)\)", text[page]):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(folder, path)) if path else page
        if not os.path.exists(os.path.join(root, path)):
            say(page, "dead link " + target)
        elif anchor and (path not in text or anchor not in anchors(path)):
            say(page, "no such heading: " + target)
    for path in re.findall(r"`((?:src|comm|gnn|partition|tests|scripts|docs|cmake|bench|include|python)/[\w./-]*\w)`", text[page]):
        here = [os.path.join(root, path + ending) for ending in ("", ".c", ".h")]
        if not re.search(r"NAME|x\.", path) and not any(map(os.path.exists, here)):
            say(page, "no such file: " + path)

# ---- words of the code that the guides name ----
code = ""
for folder in ("src", "comm", "gnn", "dense", "partition", "tests", "cmake", "scripts", "bench", "include"):
    for base, _, names in os.walk(os.path.join(root, folder)):
        for name in names:
            with open(os.path.join(base, name), errors="replace") as stream:
                code += stream.read()
words = set(re.findall(r"\w+", code))
for page in ("docs/howto-backend.md", "docs/howto-collective.md", "docs/howto-sync-mode.md"):
    found = set(re.findall(r"`(?:weft_status )?([a-zA-Z]+_\w+)(?:\([^`]*\)|\[\])?`", text[page]))
    if len(found) < 15:
        say(page, "names only %d functions and types" % len(found))
    for word in sorted(found):
        if "NAME" not in word and not word.endswith("_") and word not in words:
            say(page, "no such name in the code: " + word)

# ---- options ----
names = set()
for option in json.loads(run("generate", "json"))["options"]:
    names.update([option["name"], *option["aliases"]])
for page in pages:
    blocks = "\n".join(re.findall(r"^```[a-z]*\n(.*?)^```", text[page], re.M | re.S)).replace("\\\n", " ")
    for line in blocks.split("\n"):
        command = re.search(r"(?:^|[ /])weft (?:train|convert|partition|bench|info|eval|predict|export|doctor|report) (.*)", line)
        for name in re.findall(r"(?:^| )--(?:no-)?([a-z][\w-]*)", command.group(1) if command else ""):
            if name not in names and name not in ("prefix",):
                say(page, "weft has no option --%s: %s" % (name, line.strip()))

# ---- exit codes ----
said = dict(re.findall(r"^ +(\d+)  (.*)$", run("--help=exit-codes"), re.M))
table = dict(re.findall(r"^\| (\d+) \| ([^|]*) \|", text["docs/launching.md"].split("## Exit codes")[1], re.M))
if len(said) < 15 or said.keys() != table.keys():
    say("docs/launching.md", "exit codes %s, weft has %s" % (sorted(table), sorted(said)))
if any("sigkill_timeout 60" in text[page] for page in pages):
    say("pages", "odls_base_sigkill_timeout delays SIGTERM too")

print("\n".join(problems) or "%d pages, %d options, %d exit codes" % (len(pages), len(names), len(said)))
sys.exit(bool(problems))
PY
