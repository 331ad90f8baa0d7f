// Draws a job's plan with its progress: stages with their shares of time, edges with their flow and backlog.

import { h, keyed, s, say, set } from "./dom.js";
import { HEIGHT, INNER, labelOf, lineOf, origin, stageBox, TABLE_HEIGHT, TABLE_WIDTH, tableBox, WIDTH } from "./graph_shapes.js";
import { backlogText, describe, edgeWords, fillRow, flowText, isFinished, planLegend, shareText, stageTable, stageWords } from "./graph_words.js";
import { fitted, placed } from "./labels.js";
import { layout } from "./layout.js";
import { Viewport } from "./viewport.js";

const GAP = { across: 116, down: 26 };
const LABEL = { width: 106, height: 28 };
const MARGIN = 16;

/**
 * @typedef {{number: number, name: string, kind: string, table: string | null, queries: string[], tasks: number,
 *   finished: number, busy: number, waiting: number, idle: number, rows: number, bytes: number,
 *   rows_per_s: number, bytes_per_s: number, failed: boolean, held_bytes: number, spilled_bytes: number}} Stage
 * @typedef {{id: string, from_stage: number | null, from_table: string | null, to_stage: number, spread: string,
 *   keys: string[], records: number, rows: number, bytes: number, rows_per_s: number, bytes_per_s: number,
 *   backlog: number, backlog_bytes: number, unit: string}} Edge
 * @typedef {{live: boolean, stages: Stage[], edges: Edge[], why: string}} Graph
 */

/** A drawing that is updated with each new graph. A stage can be chosen by a click, or with arrows and Enter. */
export class GraphView {
  /** @param {(stage: number | null) => void} [chosen] called when the person chooses a stage, or none */
  constructor(chosen = () => {}) {
    this.shape = "";
    this.chosen = chosen;
    /** @type {number | null} */
    this.stage = null;
    /** @type {Map<string, import("./layout.js").Placed>} */
    this.placed = new Map();
    this.lines = s("g");
    this.labels = s("g");
    this.boxes = s("g");
    this.picture = s("svg.graph", { role: "group", "aria-label": "The job's plan" }, this.lines, this.boxes, this.labels);
    this.rows = h("tbody");
    this.viewport = new Viewport(this.picture, "Picture of the plan");
    this.side = h("div.plan-side", { hidden: true });
    this.element = h("div", {}, h("div.plan", {}, this.viewport.element, this.side), planLegend(),
      h("details.more", {}, h("summary", {}, "The same as a table"), stageTable(this.rows)));
    // On the frame: a listener for the focus would make the group of boxes itself focusable.
    const { frame } = this.viewport;
    frame.addEventListener("click", (event) => this.clicked(/** @type {Element} */ (event.target)));
    frame.addEventListener("keydown", (event) => this.key(event));
    frame.addEventListener("focusin", (event) => this.reveal(/** @type {Element} */ (event.target)));
  }

  /** @param {Graph} graph */
  show(graph) {
    const shape = JSON.stringify([graph.stages.map((stage) => stage.name), graph.edges.map((edge) => edge.id)]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.arrange(graph);
    }
    for (const stage of graph.stages) this.fillBox(stage, isFinished(stage, graph), graph.live);
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
    this.placed = made.boxes;
    this.lines.replaceChildren(...graph.edges.map((edge) => lineOf(edge, made.paths.get(edge.id) ?? [])));
    this.labels.replaceChildren(...graph.edges.map((edge) => labelOf(edge, labels.get(edge.id))));
    this.boxes.replaceChildren(
      ...tables.map((table) => tableBox(table, /** @type {any} */ (made.boxes.get(`table ${table}`)))),
      ...graph.stages.map((stage) => stageBox(stage, /** @type {any} */ (made.boxes.get(`stage ${stage.number}`)))));
    for (const layer of [this.lines, this.labels, this.boxes]) set(layer, "transform", `translate(${MARGIN} ${MARGIN})`);
    this.viewport.resize(made.width + 2 * MARGIN, made.height + 2 * MARGIN);
    this.mark(this.stage);
  }

  /** Marks a stage as chosen. @param {number | null} stage */
  mark(stage) {
    this.stage = stage;
    const boxes = [...this.boxes.querySelectorAll("[data-stage]")];
    const entry = boxes.find((box) => Number(box.getAttribute("data-stage")) === stage) ?? boxes[0];
    for (const box of boxes) {
      set(box, "tabindex", box === entry ? "0" : "-1");
      set(box, "aria-pressed", String(stage !== null && box === entry));
    }
    this.viewport.keep(stage === null ? null : this.boxOf(stage));
  }

  /** @param {number | string | null} stage */
  boxOf(stage) {
    const found = this.placed.get(`stage ${stage}`);
    return found ? { x: found.x + MARGIN, y: found.y + MARGIN, width: found.width, height: found.height } : null;
  }

  /** @param {Element} target */
  clicked(target) {
    const box = target.closest("[data-stage]");
    if (!box) return;
    const stage = Number(box.getAttribute("data-stage"));
    this.chosen(stage === this.stage ? null : stage);
  }

  /** Arrows move to the nearest stage in their direction. @param {KeyboardEvent} event */
  key(event) {
    const box = /** @type {Element} */ (event.target).closest("[data-stage]");
    if (!box) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return this.clicked(box);
    }
    const next = this.nearest(Number(box.getAttribute("data-stage")), event.key);
    if (next === null) return;
    event.preventDefault();
    const found = /** @type {SVGElement | null} */ (this.boxes.querySelector(`[data-stage="${next}"]`));
    set(box, "tabindex", "-1");
    if (found) set(found, "tabindex", "0");
    found?.focus();
  }

  /** @param {number} stage @param {string} key @returns {number | null} */
  nearest(stage, key) {
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key] ?? [0, 0];
    const from = this.placed.get(`stage ${stage}`);
    if (!from || (!dx && !dy)) return null;
    const costs = [...this.placed.values()].filter((box) => box.id.startsWith("stage ")).map((box) => {
      const [x, y] = [box.x - from.x, box.y - from.y];
      const [along, aside] = dx ? [x * dx, Math.abs(y)] : [y * dy, Math.abs(x)];
      return { box, cost: along > 0 ? along + 3 * aside : Infinity };
    });
    const best = costs.sort((a, b) => a.cost - b.cost)[0];
    return best && best.cost < Infinity ? Number(best.box.id.slice(6)) : null;
  }

  /** @param {Element} target */
  reveal(target) {
    const box = target.closest("[data-stage]");
    const found = box?.matches(":focus-visible") ? this.boxOf(box.getAttribute("data-stage")) : null;
    if (found) this.viewport.reveal(found);
  }

  /** @param {Stage} stage @param {boolean} done @param {boolean} live */
  fillBox(stage, done, live) {
    const box = /** @type {Element} */ (this.boxes.querySelector(`[data-stage="${stage.number}"]`));
    const state = stage.failed ? "failed" : done ? "finished" : stage.busy > 0.02 && live ? "busy" : "";
    set(box, "class", `stage ${stage.kind} ${state}`);
    set(/** @type {Element} */ (box.querySelector(".busy-share")), "width", INNER * stage.busy);
    const waiting = /** @type {Element} */ (box.querySelector(".waiting-share"));
    set(waiting, "x", 12 + INNER * stage.busy);
    set(waiting, "width", INNER * stage.waiting);
    say(/** @type {Element} */ (box.querySelector(".share-text")), fitted(shareText(stage, done, live), INNER, "11px"));
    say(/** @type {Element} */ (box.querySelector("title")), stageWords(stage));
    set(box, "aria-label", stageWords(stage));
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
