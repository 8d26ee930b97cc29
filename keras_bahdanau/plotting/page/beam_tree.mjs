// The tree of a beam search: every hypothesis that it kept at some step, including pruned ones.

import { placed } from "./branches.mjs";
import { html, label, roving, svg } from "./elements.mjs";
import { chance, quoted, signed } from "./wording.mjs";

const COLUMN = 104, ROW = 32, WIDTH = 84, HEIGHT = 24, MARGIN = 12, START = 26;  // pixels

/** Return `{element, show(step)}` for a trace with a tree; `go` is as in `sentenceOf`. */
export function beamTreeOf(trace, { go }) {
  const { tree } = trace;
  const layout = placed(tree.parents, tree.path);
  const kinds = kindsOf(tree);
  const detail = html("p", { class: "detail", role: "status", "aria-live": "polite" }, counted(kinds));
  const band = svg("rect", { class: "band", y: 0, width: COLUMN, rx: 6 });
  const height = layout.count * ROW + 2 * MARGIN;
  const width = MARGIN * 2 + START + (Math.max(-1, ...layout.columns) + 1) * COLUMN;
  band.setAttribute("height", height);
  const edges = tree.parents.map((_, node) => edgeOf(tree, node, layout, kinds[node]));
  const say = (node) => { detail.textContent = told(tree, node, kinds[node]); };
  const nodes = tree.tokens.map((token, node) => nodeOf(token, node, layout, kinds[node], {
    name: told(tree, node, kinds[node]),
    say: () => say(node),
    choose: () => {
      say(node);
      const step = tree.path.indexOf(node);
      if (step >= 0) go(step);
    },
  }));
  roving(nodes, (node, key) => neighbour(node, key, tree, layout));
  const root = svg("circle", { class: "root", cx: MARGIN + 5, cy: MARGIN + ROW / 2, r: 5 });
  const picture = svg("svg", { class: "tree", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Tree of the search" },
    band, ...edges, root, ...nodes);
  const scroll = html("div", { class: "scroll", role: "region", "aria-label": "Branches of the search" }, picture);
  return {
    element: html("div", {}, scroll, detail),
    show(step) {
      const [left] = xy(layout.columns[tree.path[step]] ?? step, 0);
      band.setAttribute("x", left - (COLUMN - WIDTH) / 2);
      scroll.scrollTo({ left: left - scroll.clientWidth / 2 });
    },
  };
}

function kindsOf({ tokens, path, kept }) {
  const [best, others] = [new Set(path), new Set(kept)];
  return tokens.map((_, node) => (best.has(node) ? "best" : others.has(node) ? "kept" : "pruned"));
}

function counted(kinds) {
  const pruned = kinds.filter((kind) => kind === "pruned").length;
  return `The search had ${kinds.length} hypotheses, of which ${pruned} were pruned. Choose one to read it.`;
}

/** Describe the hypothesis of a node, and whether it was kept. */
function told(tree, node, kind) {
  const tokens = [];
  for (let one = node; one >= 0; one = tree.parents[one]) tokens.unshift(tree.tokens[one]);
  const before = tree.logProbs[tree.parents[node]] ?? 0;
  const own = chance(Math.exp(tree.logProbs[node] - before));
  const end = { best: "part of this text", kept: "kept to the end", pruned: "pruned" }[kind];
  const text = tokens.map((token) => (token === "</s>" ? " ⏹" : token)).join("").replaceAll("\u2581", " ").trim();
  return `${quoted(tokens.at(-1))} ${own}: \u2068${text}\u2069, log p ${signed(tree.logProbs[node], 2)}, score ${signed(tree.scores[node], 2)}, ${end}.`;
}

function xy(column, row) {
  return [MARGIN + START + column * COLUMN, MARGIN + row * ROW + (ROW - HEIGHT) / 2];
}

function edgeOf(tree, node, { columns, rows }, kind) {
  const parent = tree.parents[node];
  const [x, top] = xy(columns[node], rows[node]);
  const [before, above] = parent < 0 ? [MARGIN + 10 - WIDTH, xy(0, 0)[1]] : xy(columns[parent], rows[parent]);
  const [from, to] = [above + HEIGHT / 2, top + HEIGHT / 2];
  const [start, middle] = [before + WIDTH, (before + WIDTH + x) / 2];
  const chance = Math.exp(tree.logProbs[node] - (tree.logProbs[parent] ?? 0));
  return svg("path", { class: `edge ${kind}`, d: `M${start} ${from}C${middle} ${from} ${middle} ${to} ${x} ${to}`, "stroke-width": (1 + 4 * Math.min(1, chance)).toFixed(2) });
}

function nodeOf(token, node, { columns, rows }, kind, { name, say, choose }) {
  const [x, y] = xy(columns[node], rows[node]);
  const onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  };
  return svg("g", { class: `node ${kind}`, role: "button", "aria-label": name, onclick: choose, onfocus: say, onmouseenter: say, onkeydown },
    svg("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 6 }),
    svg("text", { x: x + WIDTH / 2, y: y + HEIGHT / 2, "text-anchor": "middle", "dominant-baseline": "central" }, label(token, 9)));
}

/** Return the node that an arrow key leads to: the parent, the first child, or the next row of a column. */
function neighbour(node, key, tree, { columns, rows, children }) {
  if (key === "ArrowLeft") return tree.parents[node];
  if (key === "ArrowRight") return children[node][0];
  if (key !== "ArrowUp" && key !== "ArrowDown") return NaN;
  const side = key === "ArrowUp" ? -1 : 1;
  const others = [...rows.keys()].filter((one) => columns[one] === columns[node] && side * (rows[one] - rows[node]) > 0);
  return others.sort((one, other) => side * (rows[one] - rows[other]))[0] ?? NaN;
}
