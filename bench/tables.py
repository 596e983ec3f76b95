"""Tables of Markdown pages, written from the JSON files of bench/results between comments that mark their places.

    <!-- table: NAME -->        the table of bench/results/NAME.json
    <!-- measured: NAME -->     its commands and its table
    <!-- machines: all -->      which machine, program and day the measured subjects are of
    <!-- end -->
"""
import os
import re

import measuring

PAGES = [os.path.join(measuring.ROOT, name) for name in ("README.md", "docs/performance.md", "docs/performance-machines.md", "docs/accuracy.md", "docs/recipes.md", "docs/mods.md")]
BLOCK = re.compile(r"(<!-- (table|measured|machines): ([\w/-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
BUSY = 0.2  # processors that other programs take from which on a measurement is marked
COLUMNS = 130  # of a command before it goes on in the next line


def written(cell, how):
    """A cell as the page shows it: text as it is, numbers with three digits, samples as the median with quartiles in brackets."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    scale, form = how.get("scale", 1), how.get("format")

    def number(value):
        return format(value * scale, form) if form else measuring.digits(value * scale)

    if not isinstance(cell, dict):
        return number(cell)
    spread = how.get("spread", True) and cell["n"] > 1
    return number(cell["median"]) + (f" ({number(cell['q1'])}-{number(cell['q3'])})" if spread else "")


def table(result):
    columns = result["columns"]
    lines = ["| " + " | ".join(how["head"] for how in columns) + " |", "|" + "---|" * len(columns)]
    for row in result["rows"]:
        lines.append("| " + " | ".join(written(cell, how) for cell, how in zip(row, columns, strict=True)) + " |")
    return lines


def wrapped(command):
    lines, line = [], ""
    for word in command.split(" "):
        if line and len(line) + len(word) > COLUMNS:
            lines.append(line + " \\")
            line = "   "
        line += (" " if line else "") + word
    return lines + [line]


def provenance(result):
    machine, build = result["machine"], result["build"]
    memory = int(machine["memory"].split()[0]) / 2**20  # of KiB
    return (f"{machine['processor']} (family and model {machine['family']}), {machine['cores']} cores, {memory:.0f} GiB; commit "
            f"{result['commit']}, {build['compiler']}, {build['MPI']}, oneDNN {build['oneDNN']}; {result['date']}")


def read_result(path):
    result = measuring.read_json(path)
    if result.get("quick"):
        raise measuring.Failed(f"{path} was measured with --quick: its figures mean nothing, and no page shows them")
    return result


def machines(results):
    """A line for each machine, program and day, with the subjects that are of it; the versions of peers behind them."""
    subjects, versions = {}, {}
    for name in sorted(os.listdir(results)):
        if name.endswith(".json"):
            result = read_result(os.path.join(results, name))
            others = result["other_processors"]
            busy = f" (other programs took {others:.1f} processors)" if others > BUSY else ""
            subjects.setdefault(provenance(result), []).append(result["subject"] + busy)
            versions.update(result["versions"])
    lines = [f"- {line}: {', '.join(names)}" for line, names in subjects.items()]
    return lines + ["- Peers: " + ", ".join(f"{name} {text}" for name, text in sorted(versions.items()))] * bool(versions)


def content(kind, name, results):
    if kind == "machines":
        return machines(results) or ["- no subject was measured yet"]
    path = os.path.join(results, name + ".json")
    if not os.path.exists(path):
        return [f"`{name}` was not measured on this machine yet."]
    result = read_result(path)
    if kind == "table":
        return table(result)
    commands = [command for command in result["commands"] if " convert synth:" not in command]  # stores stand in the page's head
    return ["```", *(line for command in commands[:result.get("shown")] for line in wrapped(command)), "```", "", *table(result)]


def rendered(text, results):
    def block(match):
        return match[1] + "\n".join(content(match[2], match[3], results)) + "\n" + match[4]

    return BLOCK.sub(block, text)


def write_pages(results, pages, check):
    """Writes the tables of the pages. -> the pages that differ from their figures; with check, nothing is written."""
    stale = []
    for path in pages:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        new = rendered(text, results)
        if new != text:
            stale.append(path)
            if not check:
                measuring.write_whole(path, new)
    return stale
