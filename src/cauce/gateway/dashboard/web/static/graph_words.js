// Describes a job's plan and progress in words, and as a table for people who cannot see the drawing.

import { breakable, h, replace, say } from "./dom.js";
import { bytes, count, percent, plural, short } from "./format.js";
import { scroller } from "./scroller.js";

/** @typedef {import("./graph.js").Stage} Stage */
/** @typedef {import("./graph.js").Edge} Edge */
/** @typedef {import("./graph.js").Graph} Graph */

/** @param {Edge} edge @param {boolean} live */
export function flowText(edge, live) {
  if (live) return edge.rows_per_s ? `${short(edge.rows_per_s)} rows/s` : edge.bytes_per_s ? `${bytes(edge.bytes_per_s)}/s` : "";
  return edge.rows ? `${short(edge.rows)} rows` : edge.bytes ? bytes(edge.bytes) : "";
}

/** The backlog of an edge while the job runs. @param {Edge} edge */
export function backlogText(edge) {
  return edge.backlog ? `${short(edge.backlog)} waiting` : "";
}

/** A stage without tasks, whose pages are written by the stages before it, is finished with them.
 * @param {Stage} stage @param {Graph} graph @returns {boolean} */
export function isFinished(stage, graph) {
  if (stage.tasks > 0) return stage.finished >= stage.tasks;
  const before = graph.edges.filter((edge) => edge.to_stage === stage.number).map((edge) => edge.from_stage);
  return before.length > 0 && graph.stages.filter((each) => before.includes(each.number)).every((each) => isFinished(each, graph));
}

/** @param {Stage} stage @param {boolean} done @param {boolean} live */
export function shareText(stage, done, live) {
  if (stage.failed) return "failed";
  if (stage.tasks === 0) return done ? "finished" : "pages in input order";
  if (done) return live ? "finished" : `finished, busy ${percent(stage.busy)}`;
  const tasks = stage.finished ? `${stage.finished} of ${plural(stage.tasks, "task")}, ` : "";
  return `${tasks}busy ${percent(stage.busy)}, waits ${percent(stage.waiting)}`;
}

/** Its input in memory and in temporary files. @param {Stage} stage */
function memoryWords(stage) {
  const held = stage.held_bytes ? `; ${bytes(stage.held_bytes)} of input in memory` : "";
  return held + (stage.spilled_bytes ? `; ${bytes(stage.spilled_bytes)} written to temporary files` : "");
}

/** @param {Stage} stage */
export function stageWords(stage) {
  const failed = stage.failed ? "This stage failed the job. " : "";
  return `${failed}${stage.name}, for ${stage.queries.join(", ")}: ${stage.finished} of ${plural(stage.tasks, "task")} finished; ` +
    `busy ${percent(stage.busy)}, waiting for input ${percent(stage.waiting)}, idle ${percent(stage.idle)} of the time${memoryWords(stage)}`;
}

/** @param {Edge} edge */
export function edgeWords(edge) {
  const keys = edge.keys.length ? ` by ${edge.keys.join(", ")}` : "";
  const waiting = edge.backlog ? `; ${plural(edge.backlog, edge.unit)} waiting` : "";
  return `${edge.spread}${keys}: ${plural(edge.records, edge.unit)}, ${plural(edge.rows, "row")}, ${bytes(edge.bytes)}${waiting}`;
}

/** @param {Graph} graph */
export function describe(graph) {
  const busiest = [...graph.stages].sort((a, b) => b.busy - a.busy)[0];
  const most = busiest ? ` The busiest is ${busiest.name} with ${percent(busiest.busy)}.` : "";
  const failed = graph.stages.filter((stage) => stage.failed).map((stage) => ` Failed: ${stage.name}.`).join("");
  return `The job's plan: ${plural(graph.stages.length, "stage")}, ${plural(graph.edges.length, "edge")}.${failed}${most}`;
}

/** @param {HTMLElement} rows */
export function stageTable(rows) {
  const heads = ["Stage", "Tasks", "Busy", "Waiting", "Idle", "Rows in", "Bytes in", "In memory", "In files"];
  return scroller("Stages",
    h("table.compact", {}, h("thead", {}, h("tr", {}, heads.map((head, index) => h(index ? "th.number" : "th", { scope: "col" }, head)))), rows));
}

/** @param {Element} row @param {Stage} stage */
export function fillRow(row, stage) {
  const cells = [stage.failed ? `${stage.name} (failed)` : stage.name, `${stage.finished} of ${stage.tasks}`, percent(stage.busy), percent(stage.waiting),
    percent(stage.idle), count(stage.rows), bytes(stage.bytes), bytes(stage.held_bytes), bytes(stage.spilled_bytes)];
  while (row.children.length < cells.length) row.append(h(row.children.length ? "td.number" : "td"));
  if (row.children[0].textContent !== cells[0]) replace(row.children[0], breakable(cells[0]));
  cells.slice(1).forEach((text, index) => say(row.children[index + 1], text));
}

export function planLegend() {
  return h("ul.legend", {},
    h("li", {}, h("span.key.busy"), "busy: a worker runs it"),
    h("li", {}, h("span.key.waiting"), "waiting: leased by a worker, input not there yet"),
    h("li", {}, h("span.key.idle"), "idle: not leased"));
}
