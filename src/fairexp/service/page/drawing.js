"use strict";
// A ranking as a row of positions: coloured by group, blocks underlined, arrows for documents moved for fairness.

const SVG = "http://www.w3.org/2000/svg";
const BOX = 44, GAP = 6, TOP = 26, LINE = 12;

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function groupColour(groups, name) {
  const number = groups.indexOf(name);
  return number < 0 ? "var(--g5)" : `var(--g${number % 6})`;
}

function drawRanking(ranking, groups) {
  const left = (position) => (position - 1) * (BOX + GAP) + 2;
  const width = ranking.items.length * (BOX + GAP) + 4;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${TOP + BOX + LINE}`, width, height: TOP + BOX + LINE, "aria-hidden": "true" });
  for (const item of ranking.items) {
    const x = left(item.position);
    const box = shape("rect", { x, y: TOP, width: BOX, height: BOX, rx: 7, class: "position" });
    box.style.fill = groupColour(groups, item.group);
    svg.append(box, shape("text", { x: x + BOX / 2, y: TOP + 19, "text-anchor": "middle", class: "box-label" }, item.position));
    if (item.clicked) svg.append(shape("text", { x: x + BOX / 2, y: TOP + 36, "text-anchor": "middle", class: "box-label" }, "✓"));
  }
  underlineBlocks(svg, ranking.items, left);
  for (const move of ranking.moved) drawMove(svg, move, left, width);
  return svg;
}

function underlineBlocks(svg, items, left) {
  let start = 0;
  for (let end = 1; end <= items.length; end++) {
    if (end < items.length && items[end].block === items[start].block) continue;
    const y = TOP + BOX + 6;
    svg.append(shape("line", { x1: left(start + 1) + 3, x2: left(end) + BOX - 3, y1: y, y2: y, class: "block" }));
    start = end;
  }
}

function drawMove(svg, move, left, width) {
  const from = Math.min(left(move.drawn_at) + BOX / 2, width - 4), to = left(move.position) + BOX / 2;
  if (from <= to) return;
  svg.append(shape("path", { d: `M ${from} ${TOP - 3} C ${from} 2, ${to} 2, ${to} ${TOP - 4}`, class: "arrow" }));
  svg.append(shape("path", { d: `M ${to - 4} ${TOP - 9} L ${to} ${TOP - 2} L ${to + 4} ${TOP - 9}`, class: "arrow" }));
}

function inWords(ranking) {
  const moved = ranking.moved.length;
  const clicks = ranking.items.filter((item) => item.clicked).length;
  const parts = [ranking.query_id || "a query", new Date(1000 * ranking.at).toLocaleTimeString()];
  parts.push(moved ? `${moved} moved for fairness` : "shown as drawn");
  if (ranking.qualified === false) parts.push("tolerance could not be met");
  parts.push(clicks === 1 ? "1 click" : `${clicks} clicks`);
  return parts.join(" · ");
}
