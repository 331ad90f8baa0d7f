// Draws a job's plan as it works: stages with their shares of time, edges with their flow and what waits on them.

import { h, keyed, s, say, set } from "./dom.js";
import { plural } from "./format.js";
import { cut, describe, edgeWords, fillRow, flowText, shareText, stageTable, stageWords } from "./graph_words.js";
import { layout } from "./layout.js";

const WIDTH = 186;
const HEIGHT = 74;
const TABLE_HEIGHT = 46;
const GAP = { across: 104, down: 24 };
const SMALLEST = 0.72;
const MARGIN = 12;
const TITLE_LETTERS = 22;

/**
 * @typedef {{number: number, name: string, kind: string, table: string | null, queries: string[], tasks: number,
 *   finished: number, busy: number, waiting: number, idle: number, rows: number, bytes: number,
 *   rows_per_s: number, bytes_per_s: number}} Stage
 * @typedef {{id: string, from_stage: number | null, from_table: string | null, to_stage: number, spread: string,
 *   keys: string[], records: number, rows: number, bytes: number, rows_per_s: number, bytes_per_s: number,
 *   backlog: number, backlog_bytes: number, unit: string}} Edge
 * @typedef {{live: boolean, stages: Stage[], edges: Edge[], why: string}} Graph
 */

/** A figure that follows the graphs it is shown. */
export class GraphView {
  constructor() {
    this.shape = "";
    this.lines = s("g");
    this.labels = s("g");
    this.boxes = s("g");
    this.picture = s("svg.graph", { role: "img", "aria-label": "The job's plan" }, this.lines, this.boxes, this.labels);
    this.rows = h("tbody");
    this.element = h("div", {},
      h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Picture of the plan" }, this.picture),
      h("details.more", {}, h("summary", {}, "The same as a table"), stageTable(this.rows)));
  }

  /** @param {Graph} graph */
  show(graph) {
    const shape = JSON.stringify([graph.stages.map((stage) => stage.name), graph.edges.map((edge) => edge.id)]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.arrange(graph);
    }
    for (const stage of graph.stages) this.fillBox(stage, graph.live);
    for (const edge of graph.edges) this.fillEdge(edge, graph.live);
    keyed(this.rows, graph.stages, (stage) => String(stage.number), () => h("tr"), (row, stage) => fillRow(row, stage));
    set(this.picture, "aria-label", describe(graph));
  }

  /** @param {Graph} graph */
  arrange(graph) {
    const tables = [...new Set(graph.edges.flatMap((edge) => (edge.from_table === null ? [] : [edge.from_table])))];
    const boxes = [
      ...tables.map((table) => ({ id: `table ${table}`, width: WIDTH * 0.72, height: TABLE_HEIGHT })),
      ...graph.stages.map((stage) => ({ id: `stage ${stage.number}`, width: WIDTH, height: HEIGHT })),
    ];
    const lines = graph.edges.map((edge) => ({ id: edge.id, from: origin(edge), to: `stage ${edge.to_stage}` }));
    const made = layout(boxes, lines, GAP);
    set(this.picture, "viewBox", `${-MARGIN} ${-MARGIN} ${made.width + 2 * MARGIN} ${made.height + 2 * MARGIN}`);
    // As wide as there is room for, but never so small that it could not be read.
    this.picture.style.maxWidth = `${made.width + 2 * MARGIN}px`;
    this.picture.style.minWidth = `${(made.width + 2 * MARGIN) * SMALLEST}px`;
    this.lines.replaceChildren(...graph.edges.map((edge) => lineOf(edge, made.paths.get(edge.id) ?? [])));
    this.labels.replaceChildren(...graph.edges.map((edge) => labelOf(edge, made.paths.get(edge.id) ?? [])));
    this.boxes.replaceChildren(
      ...tables.map((table) => tableBox(table, /** @type {any} */ (made.boxes.get(`table ${table}`)))),
      ...graph.stages.map((stage) => stageBox(stage, /** @type {any} */ (made.boxes.get(`stage ${stage.number}`)))));
  }

  /** @param {Stage} stage @param {boolean} live */
  fillBox(stage, live) {
    const box = /** @type {Element} */ (this.boxes.querySelector(`[data-stage="${stage.number}"]`));
    const done = stage.tasks > 0 && stage.finished >= stage.tasks;
    set(box, "class", `stage ${stage.kind} ${done ? "finished" : stage.busy > 0.02 && live ? "busy" : ""}`);
    const inner = WIDTH - 24;
    set(/** @type {Element} */ (box.querySelector(".busy-share")), "width", inner * stage.busy);
    const waiting = /** @type {Element} */ (box.querySelector(".waiting-share"));
    set(waiting, "x", 12 + inner * stage.busy);
    set(waiting, "width", inner * stage.waiting);
    say(/** @type {Element} */ (box.querySelector(".share-text")), shareText(stage, done, live));
    say(/** @type {Element} */ (box.querySelector("title")), stageWords(stage));
  }

  /** @param {Edge} edge @param {boolean} live */
  fillEdge(edge, live) {
    const label = /** @type {Element} */ (this.labels.querySelector(`[data-edge="${edge.id}"]`));
    const line = /** @type {Element} */ (this.lines.querySelector(`[data-edge="${edge.id}"]`));
    const flows = live && edge.rows_per_s + edge.bytes_per_s > 0;
    set(line, "class", `edge ${edge.spread} ${flows ? "flows" : ""} ${edge.backlog ? "waits" : ""}`);
    say(label.children[0], flowText(edge, live));
    say(label.children[1], edge.backlog ? `${plural(edge.backlog, edge.unit)} waiting` : "");
    say(/** @type {Element} */ (line.querySelector("title")), edgeWords(edge));
  }
}

/** @param {Edge} edge */
function origin(edge) {
  return edge.from_table === null ? `stage ${edge.from_stage}` : `table ${edge.from_table}`;
}

/** @param {Edge} edge @param {[number, number][]} points */
function lineOf(edge, points) {
  return s("g", { "data-edge": edge.id }, s("title"), s("path", { d: curve(points) }), arrow(points));
}

/** @param {[number, number][]} points */
function curve(points) {
  if (!points.length) return "";
  let path = `M ${points[0][0]} ${points[0][1]}`;
  for (let i = 1; i < points.length; i++) {
    const [x0, y0] = points[i - 1];
    const [x1, y1] = points[i];
    const half = (x1 - x0) / 2;
    path += ` C ${x0 + half} ${y0}, ${x1 - half} ${y1}, ${x1} ${y1}`;
  }
  return path;
}

/** @param {[number, number][]} points */
function arrow(points) {
  const [x, y] = points[points.length - 1] ?? [0, 0];
  return s("path.arrow", { d: `M ${x - 7} ${y - 4} L ${x} ${y} L ${x - 7} ${y + 4} Z` });
}

/** @param {Edge} edge @param {[number, number][]} points */
function labelOf(edge, points) {
  const [x0, y0] = points[points.length - 2] ?? [0, 0];
  const [x1, y1] = points[points.length - 1] ?? [0, 0];
  // In the gap before the reader, where no box can stand, and on the curve there.
  const x = x1 - Math.min(GAP.across, x1 - x0) / 2;
  const along = x1 > x0 ? (x - x0) / (x1 - x0) : 0.5;
  const y = y0 + (y1 - y0) * (3 * along ** 2 - 2 * along ** 3);
  return s("g.edge-label", { "data-edge": edge.id },
    s("text", { x, y: y - 5, "text-anchor": "middle" }),
    s("text.backlog", { x, y: y + 13, "text-anchor": "middle" }));
}

/** @param {string} table @param {import("./layout.js").Placed} box */
function tableBox(table, box) {
  return s("g.table-box", { transform: `translate(${box.x} ${box.y})` },
    s("title", {}, `Table ${table}, sent by the client`),
    s("rect", { width: box.width, height: box.height, rx: box.height / 2 }),
    s("text", { x: box.width / 2, y: box.height / 2 + 4, "text-anchor": "middle" }, cut(table, 18)));
}

/** @param {Stage} stage @param {import("./layout.js").Placed} box */
function stageBox(stage, box) {
  return s("g", { "data-stage": stage.number, transform: `translate(${box.x} ${box.y})` },
    s("title"),
    s("rect.box", { width: WIDTH, height: HEIGHT, rx: 10 }),
    s("text.name", { x: 12, y: 21 }, cut(stage.name, TITLE_LETTERS)),
    s("text.for", { x: 12, y: 37 }, cut(`for ${stage.queries.join(", ")}`, 29)),
    s("rect.idle-share", { x: 12, y: 45, width: WIDTH - 24, height: 6, rx: 3 }),
    s("rect.busy-share", { x: 12, y: 45, width: 0, height: 6, rx: 3 }),
    s("rect.waiting-share", { x: 12, y: 45, width: 0, height: 6, rx: 3 }),
    s("text.share-text", { x: 12, y: 65 }));
}
