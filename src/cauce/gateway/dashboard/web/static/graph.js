// Draws a job's plan with its progress: stages with their shares of time, edges with their flow and backlog.

import { h, keyed, s, say, set } from "./dom.js";
import { backlogText, describe, edgeWords, fillRow, flowText, shareText, stageTable, stageWords } from "./graph_words.js";
import { fitted, placed } from "./labels.js";
import { layout } from "./layout.js";
import { scroller } from "./scroller.js";
import { Zoom } from "./zoom.js";

const WIDTH = 200;
const INNER = WIDTH - 24;
const HEIGHT = 74;
const TABLE_WIDTH = 150;
const TABLE_HEIGHT = 46;
const GAP = { across: 116, down: 26 };
const LABEL = { width: 106, height: 28 };
const MARGIN = 12;

/**
 * @typedef {{number: number, name: string, kind: string, table: string | null, queries: string[], tasks: number,
 *   finished: number, busy: number, waiting: number, idle: number, rows: number, bytes: number,
 *   rows_per_s: number, bytes_per_s: number, failed: boolean, held_bytes: number, spilled_bytes: number}} Stage
 * @typedef {{id: string, from_stage: number | null, from_table: string | null, to_stage: number, spread: string,
 *   keys: string[], records: number, rows: number, bytes: number, rows_per_s: number, bytes_per_s: number,
 *   backlog: number, backlog_bytes: number, unit: string}} Edge
 * @typedef {{live: boolean, stages: Stage[], edges: Edge[], why: string}} Graph
 */

/** A drawing that is updated with each new graph. */
export class GraphView {
  constructor() {
    this.shape = "";
    this.lines = s("g");
    this.labels = s("g");
    this.boxes = s("g");
    this.picture = s("svg.graph", { role: "img", "aria-label": "The job's plan" }, this.lines, this.boxes, this.labels);
    this.rows = h("tbody");
    this.zoom = new Zoom(this.picture);
    this.element = h("div", {}, this.zoom.element,
      scroller("Picture of the plan", this.picture, "The plan is wider than the page: scroll sideways, or choose “Whole plan”."),
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
      ...tables.map((table) => ({ id: `table ${table}`, width: TABLE_WIDTH, height: TABLE_HEIGHT })),
      ...graph.stages.map((stage) => ({ id: `stage ${stage.number}`, width: WIDTH, height: HEIGHT })),
    ];
    const lines = graph.edges.map((edge) => ({ id: edge.id, from: origin(edge), to: `stage ${edge.to_stage}` }));
    const made = layout(boxes, lines, GAP);
    const labels = placed(made.paths, [...made.boxes.values()], LABEL);
    const [width, height] = [made.width + 2 * MARGIN, made.height + 2 * MARGIN];
    set(this.picture, "viewBox", `${-MARGIN} ${-MARGIN} ${width} ${height}`);
    this.zoom.resize(width);
    this.lines.replaceChildren(...graph.edges.map((edge) => lineOf(edge, made.paths.get(edge.id) ?? [])));
    this.labels.replaceChildren(...graph.edges.map((edge) => labelOf(edge, labels.get(edge.id))));
    this.boxes.replaceChildren(
      ...tables.map((table) => tableBox(table, /** @type {any} */ (made.boxes.get(`table ${table}`)))),
      ...graph.stages.map((stage) => stageBox(stage, /** @type {any} */ (made.boxes.get(`stage ${stage.number}`)))));
  }

  /** @param {Stage} stage @param {boolean} live */
  fillBox(stage, live) {
    const box = /** @type {Element} */ (this.boxes.querySelector(`[data-stage="${stage.number}"]`));
    const done = stage.tasks > 0 && stage.finished >= stage.tasks;
    const state = stage.failed ? "failed" : done ? "finished" : stage.busy > 0.02 && live ? "busy" : "";
    set(box, "class", `stage ${stage.kind} ${state}`);
    set(/** @type {Element} */ (box.querySelector(".busy-share")), "width", INNER * stage.busy);
    const waiting = /** @type {Element} */ (box.querySelector(".waiting-share"));
    set(waiting, "x", 12 + INNER * stage.busy);
    set(waiting, "width", INNER * stage.waiting);
    say(/** @type {Element} */ (box.querySelector(".share-text")), fitted(shareText(stage, done, live), INNER, "11px"));
    say(/** @type {Element} */ (box.querySelector("title")), stageWords(stage));
  }

  /** @param {Edge} edge @param {boolean} live */
  fillEdge(edge, live) {
    const label = this.labels.querySelector(`[data-edge="${edge.id}"]`);
    const line = /** @type {Element} */ (this.lines.querySelector(`[data-edge="${edge.id}"]`));
    const flows = live && edge.rows_per_s + edge.bytes_per_s > 0;
    set(line, "class", `edge ${edge.spread} ${flows ? "flows" : ""} ${edge.backlog ? "waits" : ""}`);
    for (const title of [line.querySelector("title"), label?.querySelector("title")]) if (title) say(title, edgeWords(edge));
    if (!label?.children.length) return;
    say(label.children[1], fitted(flowText(edge, live), LABEL.width, "11px"));
    say(label.children[2], fitted(backlogText(edge), LABEL.width, "600 11px"));
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

/** Empty if there is no space: then only the tooltip of the line shows the numbers.
 * @param {Edge} edge @param {[number, number] | undefined} at */
function labelOf(edge, at) {
  const [x, y] = at ?? [0, 0];
  return s("g.edge-label", { "data-edge": edge.id }, at ? [s("title"),
    s("text", { x, y: y - 4, "text-anchor": "middle" }), s("text.backlog", { x, y: y + 11, "text-anchor": "middle" })] : []);
}

/** @param {string} table @param {import("./layout.js").Placed} box */
function tableBox(table, box) {
  return s("g.table-box", { transform: `translate(${box.x} ${box.y})` },
    s("title", {}, `Table ${table}`),
    s("rect", { width: box.width, height: box.height, rx: box.height / 2 }),
    s("text", { x: box.width / 2, y: box.height / 2 + 4, "text-anchor": "middle" }, fitted(table, box.width - 24)));
}

/** @param {Stage} stage @param {import("./layout.js").Placed} box */
function stageBox(stage, box) {
  return s("g", { "data-stage": stage.number, transform: `translate(${box.x} ${box.y})` },
    s("title"),
    s("rect.box", { width: WIDTH, height: HEIGHT, rx: 10 }),
    s("text.name", { x: 12, y: 21 }, fitted(stage.name, INNER, "600 13px")),
    s("text.for", { x: 12, y: 37 }, fitted(`for ${stage.queries.join(", ")}`, INNER, "11px")),
    s("rect.idle-share", { x: 12, y: 45, width: INNER, height: 6, rx: 3 }),
    s("rect.busy-share", { x: 12, y: 45, width: 0, height: 6, rx: 3 }),
    s("rect.waiting-share", { x: 12, y: 45, width: 0, height: 6, rx: 3 }),
    s("text.share-text", { x: 12, y: 65 }));
}
