"""report_page: what `weft report` wrote, read back by parsers that know nothing of Weft.

The HTML must be well-formed XML (ElementTree) and balanced for Python's html.parser; tables become lists of rows, drawings
become lists of (x, y) in the units of their axes.
"""
import html.parser
import math
import re
import statistics
import xml.etree.ElementTree as ET

UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1, "h": 3600, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "%": 1e-2, "": 1}
VOID = {"meta", "br", "hr", "img", "input", "link"}


def text_of(element):
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip()


def number(text):
    """ "1,234", "3.08 ms", "97.13 %": a number; None for a dash. """
    match = re.fullmatch(r"(-?[0-9][0-9,]*\.?[0-9]*(?:e[-+]?[0-9]+)?) ?([^ ]*)", text)
    if match is None:
        minutes = re.fullmatch(r"([0-9]+) min ([0-9]+) s", text)
        return 60 * int(minutes[1]) + int(minutes[2]) if minutes else None
    return float(match[1].replace(",", "")) * UNITS[match[2]]


def near(shown, exact):
    """Is the figure shown the exact one, rounded to its last digit?"""
    value = number(shown)
    if value is None:
        return shown == "–" and (exact is None or not math.isfinite(exact))
    digits, _, unit = shown.partition(" ")
    if "min" in shown or "e" in digits:
        return abs(value - exact) <= max(1, 6e-4 * abs(exact))
    last = 10.0 ** -len(digits.partition(".")[2]) * UNITS[unit]
    return abs(value - exact) <= 0.501 * last


class Balance(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()


class Page:
    def __init__(self, source):
        self.source = source
        balance = Balance()
        balance.feed(source)
        balance.close()
        assert not balance.open, f"left open: {balance.open}"
        self.root = ET.fromstring(source)
        self.body = self.root.find("body")
        for element in self.root.iter():
            for name, value in element.attrib.items():
                if name in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "d", "data-x", "data-y"):
                    assert not re.search("nan|inf", value), (element.tag, name, value)
                assert name not in ("src", "href", "srcset", "onload") and "url(" not in value, (element.tag, name, value)
            assert element.tag not in ("link", "img", "iframe", "object", "embed", "image", "use"), element.tag
        assert not re.search(r"https?:|@import|url\(", source), "something is loaded from elsewhere"
        scripts = list(self.root.iter("script"))
        assert len(scripts) == 1 and not scripts[0].attrib, "one script, of the page itself"
        self.text = text_of(self.body)

    def problems(self):
        return [text_of(p) for p in self.root.iter("p") if p.get("class") == "problem"]

    def warnings(self):
        return [text_of(p) for p in self.root.iter("p") if p.get("class") == "warning"]

    def code(self):
        return ["".join(p.itertext()) for p in self.root.iter("pre")]

    def tiles(self):
        out = {}
        for tile in self.root.iter("div"):
            if tile.get("class") == "tile":
                name, value, note = [text_of(e) for e in tile]
                out.setdefault(name, (value, note))
        return out

    def tables(self):
        """[[header cells], [cells], ...] of each table, in order."""
        return [[[text_of(c) for c in row] for row in table.iter("tr")] for table in self.root.iter("table")]

    def table(self, first):
        """Rows below the header of the first table whose first header is `first`."""
        for rows in self.tables():
            if rows[0][0] == first:
                return rows[1:]
        raise AssertionError(f"no table headed {first!r}: {[t[0][0] for t in self.tables()]}")

    def table_headed(self, names):
        """Rows below the first table with these headers."""
        return next(rows[1:] for rows in self.tables() if rows[0] == names)

    def charts(self):
        return [Chart(svg) for svg in self.root.iter("svg") if svg.get("class") == "chart"]

    def bars(self):
        return [figure for figure in self.root.iter("figure") if figure.get("class") == "bars"]


class Chart:
    def __init__(self, svg):
        self.title = svg.find("title").text
        self.x = [float(v) for v in svg.get("data-x").split()]
        self.y = [float(v) for v in svg.get("data-y").split()]
        self.log = svg.get("data-log") == "1"
        self.lines = {}
        self.faint = []
        for path in svg.iter("path"):
            points = [self.value(float(a), float(b)) for a, b in re.findall(r"[ML]([-0-9.]+) ([-0-9.]+)", path.get("d"))]
            self.pieces = len(re.findall("M", path.get("d")))
            if path.get("data-name") is None:
                self.faint.append(points)
            else:
                self.lines[path.get("data-name")] = (points, len(re.findall("M", path.get("d"))))
        self.labels = [text_of(t) for t in svg.iter("text") if t.get("class", "").startswith("label")]
        self.notes = [text_of(t) for t in svg.iter("text") if t.get("class", "").startswith("note")]
        self.ticks = [text_of(t) for t in svg.iter("text") if t.get("class", "").startswith("tick r")]
        self.dots = [self.value(float(c.get("cx")), float(c.get("cy"))) for c in svg.iter("circle")]
        for points in list(self.lines.values()):
            assert all(math.isfinite(v) for p in points[0] for v in p), "a coordinate that is no number"

    def value(self, px, py):
        x = self.x[0] + (px - self.x[2]) / (self.x[3] - self.x[2]) * (self.x[1] - self.x[0])
        share = (py - self.y[2]) / (self.y[3] - self.y[2])
        y = self.y[0] * (self.y[1] / self.y[0]) ** share if self.log else self.y[0] + share * (self.y[1] - self.y[0])
        return x, y

    def check(self, name, expected):
        """The line has these (x, y), to the hundredth of a pixel that coordinates are written with."""
        points, _ = self.lines[name]
        assert len(points) == len(expected), f"{self.title}, {name}: {len(points)} points, expected {len(expected)}"
        x_pixel = abs((self.x[1] - self.x[0]) / (self.x[3] - self.x[2]))
        span = abs(self.y[3] - self.y[2])
        for (x, y), (ex, ey) in zip(points, expected):
            assert abs(x - ex) <= 0.006 * x_pixel, f"{self.title}, {name}: x {x}, expected {ex}"
            off = (abs(math.log(y / ey)) / math.log(self.y[1] / self.y[0]) if self.log
                   else abs(y - ey) / (self.y[1] - self.y[0]))
            assert off * span <= 0.006, f"{self.title}, {name}: {y} at epoch {ex}, expected {ey}"


def medians(lines, key):
    """[(epoch, median over runs)] of the epochs that at least half of the runs have."""
    runs = len({l["run"] for l in lines})
    by_epoch = {}
    for l in lines:
        if l.get(key) is not None:
            by_epoch.setdefault(l["epoch"], []).append(l[key])
    return [(e, statistics.median(v)) for e, v in sorted(by_epoch.items()) if 2 * len(v) >= runs]


def markdown_tables(source):
    """Tables of a Markdown text as lists of rows, unescaped."""
    tables, rows = [], []
    for line in source.splitlines() + [""]:
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            clean = []
            for cell in cells:
                cell = cell.strip()
                cell = cell[2:-2] if re.fullmatch(r"\*\*.*\*\*", cell) else cell
                cell = re.sub(r"\\([\\`*_\[\]|#~$])", r"\1", cell)
                clean.append(cell.replace("&lt;", "<").replace("&amp;", "&"))
            rows.append(clean)
        elif rows:
            assert all(re.fullmatch(r"-+:?", c) for c in rows[1]), rows[1]
            assert len({len(r) for r in rows}) == 1, f"ragged: {rows}"
            tables.append([rows[0]] + rows[2:])
            rows = []
    return tables
