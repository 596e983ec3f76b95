/* page_probe.js: looks at the page in a frame as a reader would, and lists what is wrong in words. */
function probe(frame) {
  "use strict";
  const doc = frame.contentDocument, win = frame.contentWindow, narrow = win.innerWidth < 560;
  const faults = [], seen = {words: 0, cells: 0, letters: 0, bars: 0, scrolled: 0, colours: 0};
  const fault = (what, text) => faults.push(what + ": " + String(text).trim().slice(0, 60));
  const visible = (e) => e.getClientRects().length > 0 && win.getComputedStyle(e).visibility !== "hidden";
  doc.querySelectorAll("details").forEach((d) => { d.open = true; });

  // The page itself never scrolls sideways.
  const root = doc.documentElement;
  if (root.scrollWidth > root.clientWidth) { fault("the page is wider than the screen", root.scrollWidth); }

  // No word of at most 32 letters stands on two lines.
  const walker = doc.createTreeWalker(doc.body, win.NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!parent.closest("script,style,title,svg") && visible(parent)) { texts.push(walker.currentNode); }
  }
  texts.forEach((node) => {
    for (const word of node.data.matchAll(/\S+/g)) {
      if (word[0].length > 32) { continue; }
      const range = doc.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      seen.words += 1;
      if (new Set(Array.from(range.getClientRects(), (r) => Math.round(r.top))).size > 1) { fault("a broken word", word[0]); }
    }
  });

  // The first column is whole: one line, nothing cut off.
  doc.querySelectorAll("tr > :first-child").forEach((cell) => {
    if (!visible(cell) || cell.textContent.length > 28) { return; }
    const range = doc.createRange();
    range.selectNodeContents(cell);
    const text = range.getBoundingClientRect(), box = cell.getBoundingClientRect();
    seen.cells += 1;
    if (text.height > 30 || text.width > box.width + 0.5 || cell.scrollWidth > cell.clientWidth) {
      fault("a first column that is not whole", cell.textContent);
    }
  });

  // Letters are large enough, also those of drawings that shrink, and stand on the page.
  doc.querySelectorAll("svg text").forEach((text) => {
    const svg = text.ownerSVGElement, box = text.getBoundingClientRect();
    if (text.textContent === "") { return; }
    const size = parseFloat(win.getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    seen.letters += 1;
    if (size < 11) { fault("letters of " + size.toFixed(1) + " pixels", text.textContent); }
    if (box.left < -0.5 || box.right > win.innerWidth + 0.5) { fault("letters beyond the screen", text.textContent); }
  });
  texts.forEach((node) => {
    if (parseFloat(win.getComputedStyle(node.parentElement).fontSize) < 11) { fault("small letters", node.data); }
  });

  // Bars: names beside them where there is room, above them where there is not; ticks do not run into each other.
  const overlap = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
  doc.querySelectorAll(".bars .row").forEach((row) => {
    const [name, bar, sum] = Array.from(row.children, (e) => e.getBoundingClientRect());
    seen.bars += 1;
    const apart = narrow ? name.bottom <= bar.top + 0.5 && sum.bottom <= bar.top + 0.5 && bar.width > 0.8 * win.innerWidth
                         : name.right <= bar.left + 0.5 && bar.right <= sum.left + 0.5;
    if (!apart || overlap(name, sum) || bar.height < 10) { fault("a bar and its labels", row.textContent); }
  });
  doc.querySelectorAll(".ticks").forEach((ticks) => {
    const shown = Array.from(ticks.children).filter(visible).map((e) => e.getBoundingClientRect());
    shown.forEach((a, i) => { if (i > 0 && overlap(shown[i - 1], a)) { fault("ticks over each other", ticks.textContent); } });
    if (shown.length < 2) { fault("no ticks", ticks.textContent); }
  });
  doc.querySelectorAll("svg.chart").forEach((svg) => {
    const labels = Array.from(svg.querySelectorAll(".label"), (e) => e.getBoundingClientRect());
    labels.forEach((a, i) => labels.slice(i + 1).forEach((b) => {
      if (a.top < b.bottom - 4 && b.top < a.bottom - 4) { fault("labels over each other", svg.querySelector("title").textContent); }
    }));
  });

  // Tables that are wider than the page scroll in their own box, and their first column stays.
  doc.querySelectorAll("table").forEach((table) => {
    const box = table.parentElement, first = table.querySelector("tbody td");
    if (!first || box.scrollWidth <= box.clientWidth) { return; }
    if (win.getComputedStyle(box).overflowX !== "auto") { fault("a wide table that does not scroll", table.textContent); return; }
    const before = first.getBoundingClientRect().left;
    box.scrollLeft = 60;
    if (first.textContent.length <= 28 && !table.closest(".many") && Math.abs(first.getBoundingClientRect().left - before) > 3) {
      fault("a first column that scrolls away", first.textContent);
    }
    seen.scrolled += box.scrollLeft > 0;
    box.scrollLeft = 0;
  });

  // Contrast as WCAG 2.2 defines it: 4.5 for text, 3 for bold labels of drawings.
  const channels = (text) => {
    const numbers = text.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
    const scale = text.startsWith("color(") ? 1 : 255;
    return [numbers[0] / scale, numbers[1] / scale, numbers[2] / scale, numbers.length > 3 ? numbers[3] : 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[3] * top[i] + (1 - top[3]) * below[i]).concat(1);
  const luminance = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) =>
    sum + weight * (c[i] <= 0.04045 ? c[i] / 12.92 : Math.pow((c[i] + 0.055) / 1.055, 2.4)), 0);
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) { layers.push(channels(win.getComputedStyle(e).backgroundColor)); }
    return layers.reverse().reduce((below, top) => over(top, below), [1, 1, 1, 1]);
  };
  const contrast = (element, colour, least) => {
    const below = behind(element), a = luminance(over(channels(colour), below)), b = luminance(below);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    seen.colours += 1;
    if (ratio < least) { fault("contrast " + ratio.toFixed(2), element.textContent); }
  };
  texts.forEach((node) => {
    if (node.data.trim() !== "") { contrast(node.parentElement, win.getComputedStyle(node.parentElement).color, 4.5); }
  });
  doc.querySelectorAll("svg text").forEach((text) => {
    if (text.textContent !== "") { contrast(text, win.getComputedStyle(text).fill, text.classList.contains("label") ? 3 : 4.5); }
  });
  return {faults: faults, seen: seen, paper: win.getComputedStyle(doc.body).backgroundColor};
}
