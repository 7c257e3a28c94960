"use strict";
// A ranking as a row of positions: coloured by group, blocks underlined, arrows for documents moved for fairness.

const SVG = "http://www.w3.org/2000/svg";
const GAP = 6, LANE = 8, LINE = 14, LETTER = 7, UNDER = 12, WIDEST = 44, NARROWEST = 17, LOWEST = 32;

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// As in the charts: the same five colours in the same order.
function groupColour(groups, name) {
  const number = groups.indexOf(name);
  return number < 0 ? "var(--g4)" : `var(--g${number % 5})`;
}

// Documents that stand higher than they were drawn.
const risen = (ranking) => ranking.moved.filter((move) => move.drawn_at > move.position);
const drawnAt = (move) => `from ${move.drawn_at}`;

function drawRanking(ranking, groups, available) {
  const n = ranking.items.length, moves = risen(ranking), beyond = moves.filter((move) => move.drawn_at > n);
  const tail = Math.max(...beyond.map((move) => LETTER * drawnAt(move).length), 0);
  const box = Math.max(NARROWEST, Math.min(WIDEST, Math.floor((available - tail - 4) / n) - GAP));
  const tall = Math.max(box, LOWEST);  // room for the position and, under it, the click
  // Each arrow from beyond the end is named there, so that two of them must be a line of text apart.
  const lanes = inLanes(moves, n), lane = beyond.length > 1 ? LINE : LANE;
  const top = 8 + lane * Math.max(...lanes.map((number) => number + 1), 0);
  const left = (position) => (position - 1) * (box + GAP) + 2;
  const width = left(n + 1) + tail, height = top + tall + UNDER;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  for (const item of ranking.items) {
    const x = left(item.position);
    const square = shape("rect", { x, y: top, width: box, height: tall, rx: 6, class: "position" });
    square.style.fill = groupColour(groups, item.group);
    const middle = { x: x + box / 2, "text-anchor": "middle", class: "box-label" };
    svg.append(square, shape("text", { ...middle, y: top + 0.43 * tall }, item.position));
    if (item.clicked) svg.append(shape("text", { ...middle, y: top + 0.84 * tall }, "✓"));
  }
  underlineBlocks(svg, ranking.items, left, box, top + tall + 6);
  moves.forEach((move, number) => drawMove(svg, move, top, top - 8 - lane * lanes[number], left, box, n));
  return svg;
}

function underlineBlocks(svg, items, left, box, y) {
  let start = 0;
  for (let end = 1; end <= items.length; end++) {
    if (end < items.length && items[end].block === items[start].block) continue;
    svg.append(shape("line", { x1: left(start + 1) + 3, x2: left(end) + box - 3, y1: y, y2: y, class: "block" }));
    start = end;
  }
}

// A height for each arrow, so that no two lie on top of each other: short ones low, long ones over them.
function inLanes(moves, n) {
  const lanes = new Array(moves.length).fill(0), placed = [];
  const span = (move) => Math.min(move.drawn_at, n + 1) - move.position;
  const order = moves.map((_, number) => number).sort((one, two) => span(moves[one]) - span(moves[two]));
  for (const number of order) {
    const { position, drawn_at } = moves[number];
    const crossed = placed.filter((other) => moves[other].position <= drawn_at && position <= moves[other].drawn_at);
    const taken = new Set(crossed.map((other) => lanes[other]));
    while (taken.has(lanes[number])) lanes[number]++;
    placed.push(number);
  }
  return lanes;
}

// From where the ranker had drawn it (right) to where it stands (left). Beyond the last position a number says where.
function drawMove(svg, move, top, y, left, box, n) {
  const beyond = move.drawn_at > n, to = left(move.position) + 0.36 * box;
  const from = beyond ? left(n + 1) : left(move.drawn_at) + 0.64 * box;
  const rise = beyond ? `M ${from} ${y}` : `M ${from} ${top - 2} V ${y + 4} Q ${from} ${y} ${from - 4} ${y}`;
  svg.append(shape("path", { d: `${rise} H ${to + 4} Q ${to} ${y} ${to} ${y + 4} V ${top - 5}`, class: "arrow" }));
  svg.append(shape("path", { d: `M ${to - 4} ${top - 7} L ${to} ${top - 1} L ${to + 4} ${top - 7} Z`, class: "head" }));
  if (beyond) svg.append(shape("text", { x: from + 3, y: y + 4, class: "from" }, drawnAt(move)));
}

function inWords(ranking) {
  const moved = risen(ranking).length;
  const clicks = ranking.items.filter((item) => item.clicked).length;
  const parts = [ranking.query_id || "a query", new Date(1000 * ranking.at).toLocaleTimeString()];
  parts.push(moved ? `${moved} moved for fairness` : "shown as drawn");
  const missed = Object.keys(ranking.met).filter((name) => ranking.met[name] === false);
  if (missed.length) parts.push(`tolerance could not be met${missed[0] === "groups" ? "" : ` (${missed.join(", ")})`}`);
  parts.push(clicks === 1 ? "1 click" : `${clicks} clicks`);
  return parts.join(" · ");
}
